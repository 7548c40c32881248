#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace holdfast::inline base {

/// As text.starts_with(), for a hot path: libstdc++ does not inline that.
inline bool has_prefix(std::string_view text, std::string_view prefix) {
    return text.size() >= prefix.size() &&
           std::char_traits<char>::compare(text.data(), prefix.data(), prefix.size()) == 0;
}

/// True if the bytes are well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

/// True if the text contains a control character (below U+0020, or U+007F): such text must not reach a table or a log.
bool has_control_characters(std::string_view text);

/// Error `invalid_argument`, naming the field, for text that is too long, not UTF-8 or has control characters.
struct TextField {
    std::string_view name;
    std::string_view value;
};
Result<void> check_text(TextField field, std::size_t max_bytes);

/// Someone else's text for use in a message: truncated, and escaped if it is not plain.
std::string excerpt(std::string_view text);

/// Parses a decimal integer without sign or blanks. Returns nullopt if it is malformed or does not fit.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Parses a duration as people write it: `1500ms`, `30s`, `5m`, `2h`, or a bare number of seconds, fractions allowed
/// (`1.5s`).
Result<Duration> parse_duration(std::string_view text);

/// A duration as people read it: `950ms`, `4.2s`, `1m05s`, `2h03m`.
std::string format_duration(Duration duration);

/// An instant of the wall clock as `2026-11-15T12:00:00.000Z`.
std::string format_wall_time(std::int64_t wall_ms);

/// Escapes everything but unreserved characters of a URL as %XX.
std::string percent_encode(std::string_view text);

/// Decodes %XX. Returns nullopt if an escape is malformed.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace holdfast::inline base
