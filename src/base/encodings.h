#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// Bytes as text, as RFC 4648 has it; all without padding.

/// Lower case: `a` to `z`, `2` to `7`.
std::string to_base32(std::string_view bytes);

/// The alphabet for URLs: `-` and `_` in the last places.
std::string to_base64url(std::string_view bytes);
/// Nothing if it is not exactly what to_base64url() makes of some bytes.
std::optional<std::string> from_base64url(std::string_view text);

/// Lower case.
std::string to_hex(std::string_view bytes);
/// Nothing if it is not pairs of hexadecimal digits, of either case.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace holdfast
