#include "base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>

#include "base/code.h"
#include "base/encodings.h"

namespace holdfast::inline base {
namespace {

/// The length of the well-formed UTF-8 sequence at the start of the text, or 0.
std::size_t utf8_sequence(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (!continues(1) || !continues(2)) return 0;
        if (lead == 0xe0 && byte(1) < 0xa0) return 0;   // overlong
        if (lead == 0xed && byte(1) >= 0xa0) return 0;  // surrogates
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (!continues(1) || !continues(2) || !continues(3)) return 0;
        if (lead == 0xf0 && byte(1) < 0x90) return 0;   // overlong
        if (lead == 0xf4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
        return 4;
    }
    return 0;
}

struct Unit {
    std::string_view name;
    double seconds;
};
constexpr std::array units{Unit{"ms", 1e-3}, Unit{"s", 1}, Unit{"m", 60}, Unit{"h", 3600}, Unit{"", 1}};
constexpr double duration_limit_s = 100.0 * 365 * 86400;

template <class... Args>
std::string formatted(const char* format, Args... args) {
    std::array<char, 64> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), format, args...);
    return {buffer.data(), static_cast<std::size_t>(length)};
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_sequence(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

bool has_control_characters(std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) return true;
    }
    return false;
}

Result<void> check_text(TextField field, std::size_t max_bytes) {
    const auto invalid = [&](const std::string& why) {
        return Error{Code::invalid_argument, fmt::format("{} {}", field.name, why)};
    };
    if (field.value.size() > max_bytes) return invalid(fmt::format("is longer than {} bytes", max_bytes));
    if (!is_utf8(field.value)) return invalid("is not UTF-8");
    if (has_control_characters(field.value)) return invalid("contains control characters");
    return {};
}

std::string excerpt(std::string_view text) {
    constexpr std::size_t max_bytes = 80;
    if (text.size() <= max_bytes && is_utf8(text) && !has_control_characters(text)) return std::string(text);
    return percent_encode(text.substr(0, max_bytes)) + (text.size() > max_bytes ? "…" : "");
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

Result<Duration> parse_duration(std::string_view text) {
    const Error malformed{Code::invalid_argument,
                          fmt::format("'{}' is not a duration; write 1500ms, 30s, 5m or 2h", text)};
    double amount = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
    if (error != std::errc{} || amount < 0) return malformed;
    const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
    for (const Unit& unit : units) {
        if (name != unit.name) continue;
        const double seconds = amount * unit.seconds;
        if (!(seconds <= duration_limit_s)) return malformed;
        return Duration{std::llround(seconds * 1e9)};
    }
    return malformed;
}

std::string format_duration(Duration duration) {
    const std::int64_t ms = to_ms(duration);
    if (ms < 0) return "-" + format_duration(-duration);
    if (ms < 1000) return formatted("%dms", static_cast<int>(ms));
    if (ms < 60'000) return formatted("%d.%ds", static_cast<int>(ms / 1000), static_cast<int>(ms % 1000 / 100));
    const long long seconds = ms / 1000;
    if (seconds < 3600) return formatted("%lldm%02llds", seconds / 60, seconds % 60);
    return formatted("%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
}

std::string format_wall_time(std::int64_t wall_ms) {
    std::time_t seconds = wall_ms / 1000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return formatted("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(wall_ms % 1000));
}

std::string percent_encode(std::string_view text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                           c == '_' || c == '.' || c == '~';
        if (plain) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += digits[byte >> 4];
        encoded += digits[byte & 15];
    }
    return encoded;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const auto byte = from_hex(text.substr(i + 1, 2));
        if (!byte) return std::nullopt;
        decoded += *byte;
        i += 2;
    }
    return decoded;
}

}  // namespace holdfast::inline base
