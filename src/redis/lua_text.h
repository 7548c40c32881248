#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis {

/// The normal form of a script's text, by which differently written scripts are recognised: without comments, blanks
/// and semicolons, every string in double quotes, Redis command names in lower case, `redis.pcall` as `redis.call`,
/// `tonumber(x)` as `x`, no parentheses around a whole condition, and local names numbered by first occurrence. Empty
/// if it cannot be a lock's script: an unclosed string, a string with escapes, or too long.
///
/// Scripts are neither interpreted nor run. Two scripts with the same form do the same in Lua, but not all scripts that
/// do the same have the same form.
std::string normal_form(std::string_view script);

inline constexpr std::size_t max_script_bytes = 4096;  ///< a longer script is not recognised

}  // namespace holdfast::redis
