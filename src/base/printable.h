#pragma once

#include <string>
#include <string_view>

namespace holdfast::inline base {

/// Makes untrusted text safe to show on a terminal or in a log: it must not control the terminal, reorder its display,
/// fake a line of its own or look like another text. Control characters (C0, DEL, C1), line separators, direction
/// marks, invisible characters and bytes that are not UTF-8 are shown as `\x1b`, `\u202e` and `\U000e0041`. Idempotent.
std::string printable(std::string_view text);

/// The same for JSON text; its meaning does not change.
std::string printable_json(std::string_view json);

}  // namespace holdfast::inline base
