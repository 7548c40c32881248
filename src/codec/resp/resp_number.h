#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::codec::resp {

/// A whole number as RESP and Redis's commands write it: digits with an optional `-`, nothing around them and no zero
/// in front of them.
inline std::optional<std::int64_t> parse_integer(std::string_view text) {
    const std::size_t sign = text.starts_with('-') ? 1 : 0;
    if (text.size() > sign && text[sign] == '0' && text.size() > 1) return std::nullopt;
    std::int64_t value = 0;
    constexpr std::size_t max_digits = 18;  // no such number overflows, so the check below is not needed
    if (text.size() > sign && text.size() <= max_digits) {
        for (std::size_t i = sign; i < text.size(); ++i) {
            const unsigned digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
            if (digit > 9) return std::nullopt;
            value = value * 10 + digit;
        }
        return sign == 0 ? value : -value;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Appends a header such as `$5`, `*3` or `:-42`, with the end of the line.
template <typename Number>
inline void append_header(std::string& out, char type, Number number) {
    char line[24];
    line[0] = type;
    auto [end, error] = std::to_chars(line + 1, line + sizeof line - 2, number);
    *end++ = '\r';
    *end++ = '\n';
    out.append(line, static_cast<std::size_t>(end - line));
}

}  // namespace holdfast::codec::resp
