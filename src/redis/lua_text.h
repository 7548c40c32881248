#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis {

/// The one form of a script's text, so that scripts which say the same in other words are recognised: without comments,
/// blanks and semicolons, every string in double quotes, names of Redis's commands in small letters, `redis.pcall` as
/// `redis.call`, `tonumber(x)` as `x`, no brackets around a whole condition, and local names numbered in the order in
/// which they come up. Empty if it is not text that a lock's script would be: a string that is not closed, or too long.
///
/// Nothing is understood here, and nothing is run: two scripts with one form do the same in Lua, but not all scripts
/// that do the same have one form.
std::string normal_form(std::string_view script);

inline constexpr std::size_t max_script_bytes = 4096;  ///< of a script that is looked at

}  // namespace holdfast::redis
