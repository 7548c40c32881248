#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::redis {

/// True if the whole text matches the pattern, as Redis's KEYS and SCAN understand it, byte by byte: `*` any number of
/// bytes, `?` one, `[abc]`, `[a-z]` and `[^a]` one of a set, `\` takes what follows as it is. A set that is not closed
/// ends with the pattern. Takes at most as many steps as pattern times text has bytes, however many stars there are.
bool glob_matches(std::string_view pattern, std::string_view text);

/// The same with a limit on the work: takes the bytes of the pattern that it reads off `steps`. If they do not suffice,
/// `steps` is 0 and the answer false, which then means nothing.
bool glob_matches(std::string_view pattern, std::string_view text, std::uint64_t& steps);

/// What every text that matches starts with.
std::string_view glob_prefix(std::string_view pattern);

}  // namespace holdfast::redis
