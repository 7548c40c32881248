#pragma once

#include <string_view>

namespace holdfast::redis {

/// True if the whole text matches the pattern, as Redis's KEYS and SCAN understand it, byte by byte: `*` any number of
/// bytes, `?` one, `[abc]`, `[a-z]` and `[^a]` one of a set, `\` takes what follows as it is. A set that is not closed
/// ends with the pattern. Takes at most as many steps as pattern times text has bytes, however many stars there are.
bool glob_matches(std::string_view pattern, std::string_view text);

/// What every text that matches starts with.
std::string_view glob_prefix(std::string_view pattern);

}  // namespace holdfast::redis
