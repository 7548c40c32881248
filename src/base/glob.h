#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::inline base {

/// True if the whole text matches the pattern, with the syntax of Redis's KEYS and SCAN, byte by byte: `*` matches any
/// number of bytes, `?` one, `[abc]`, `[a-z]` and `[^a]` one of a set; `\` makes the next byte literal. An unclosed set
/// ends with the pattern. Takes at most pattern bytes times text bytes steps, for any number of stars.
bool glob_matches(std::string_view pattern, std::string_view text);

/// The same with a limit on the work: subtracts the number of pattern bytes read from `steps`. If the limit is reached,
/// `steps` is 0 and the result is false and meaningless.
bool glob_matches(std::string_view pattern, std::string_view text, std::uint64_t& steps);

/// A prefix of every matching text.
std::string_view glob_prefix(std::string_view pattern);

}  // namespace holdfast::inline base
