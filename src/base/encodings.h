#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::inline base {

/// Encodings of bytes as text, as in RFC 4648, without padding.

/// Lower case: `a` to `z`, `2` to `7`.
std::string to_base32(std::string_view bytes);

/// The alphabet for URLs, with `-` and `_` as the last two digits.
std::string to_base64url(std::string_view bytes);
/// Returns nullopt if the text is not exactly an output of to_base64url().
std::optional<std::string> from_base64url(std::string_view text);

/// Lower case.
std::string to_hex(std::string_view bytes);
/// Returns nullopt if the text is not pairs of hexadecimal digits, of either case.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace holdfast::inline base
