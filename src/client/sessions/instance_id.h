#pragma once

#include <string>
#include <string_view>

namespace holdfast::client::sessions {

/// A fresh `{hostname}-{start in ns since 1970}-{8 hex}` (O1). The random part keeps it unique even if the clock was
/// set back.
std::string fresh_instance_id();

/// True for a text of that form; the host name may contain hyphens.
bool is_instance_id(std::string_view text);

/// True for `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` in hexadecimal digits of either case.
bool is_uuid(std::string_view text);

/// True for a valid session id where UUIDs are not required: 1 to 256 bytes, no blanks or control characters.
bool is_plain_session_id(std::string_view text);

}  // namespace holdfast::client::sessions
