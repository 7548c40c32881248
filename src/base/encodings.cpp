#include "base/encodings.h"

#include <cstdint>

namespace holdfast::inline base {
namespace {

constexpr std::string_view base32_digits = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::string_view base64url_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Splits the bytes into digits of `bits` bits, most significant first; the last digit is padded with zeros.
std::string in_digits(std::string_view bytes, int bits, std::string_view digits) {
    std::string text;
    text.reserve((bytes.size() * 8 + static_cast<std::size_t>(bits) - 1) / static_cast<std::size_t>(bits));
    std::uint32_t pending = 0;
    int count = 0;
    for (const char byte : bytes) {
        pending = (pending << 8 | static_cast<unsigned char>(byte)) & 0xffff;
        for (count += 8; count >= bits; count -= bits)
            text += digits[pending >> (count - bits) & ((1U << bits) - 1)];
    }
    if (count > 0) text += digits[pending << (bits - count) & ((1U << bits) - 1)];
    return text;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string to_base32(std::string_view bytes) {
    return in_digits(bytes, 5, base32_digits);
}

std::string to_base64url(std::string_view bytes) {
    return in_digits(bytes, 6, base64url_digits);
}

std::optional<std::string> from_base64url(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size() * 6 / 8);
    std::uint32_t pending = 0;
    int count = 0;
    for (const char c : text) {
        const std::size_t digit = base64url_digits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        pending = (pending << 6 | static_cast<std::uint32_t>(digit)) & 0xffff;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(pending >> count & 0xff);
    }
    // Six leftover bits mean one digit too many. Fewer leftover bits are padding and must be zero.
    if (count >= 6 || (pending & ((1U << count) - 1)) != 0) return std::nullopt;
    return bytes;
}

std::string to_hex(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes) {
        text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

std::optional<std::string> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_digit(text[i]);
        const int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
    }
    return bytes;
}

}  // namespace holdfast::inline base
