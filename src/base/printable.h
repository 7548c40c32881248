#pragma once

#include <string>
#include <string_view>

namespace holdfast {

/// Text for people, on a terminal or in a log: what others wrote must not steer a terminal, nor show in another order
/// than it has, nor pass for a line of its own or for another text. Control characters (C0, DEL, C1), line separators,
/// marks of direction, invisible characters and bytes that are no text are shown as `\x1b`, `\u202e` and `\U000e0041`.
/// Twice is the same as once.
std::string printable(std::string_view text);

/// The same for JSON: it stays the same JSON.
std::string printable_json(std::string_view json);

}  // namespace holdfast
