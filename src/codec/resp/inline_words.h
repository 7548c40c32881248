#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::resp {

/// Splits a line typed by hand into words, as redis-cli and Redis do: words are separated by blanks; in double quotes
/// the escapes `\n \r \t \b \a \\ \"` and `\xHH` are recognised, in single quotes only `\'`. The words are views into
/// `text`, which is overwritten and never longer than the line. False if a quote is not closed, or is closed in the
/// middle of a word.
bool split_inline(std::string_view line, std::string& text, std::vector<std::string_view>& words);

}  // namespace holdfast::resp
