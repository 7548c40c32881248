#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "base/text.h"

namespace holdfast::inline base {
namespace {

struct Character {
    std::int32_t value = 0;  ///< negative: a byte that is not UTF-8
    std::size_t length = 1;
};

std::size_t length_after(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead < 0xe0) return 2;
    return lead < 0xf0 ? 3 : 4;
}

/// REQUIRES: the text is not empty.
Character first_of(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::string_view sequence = text.substr(0, length_after(lead));
    if (!is_utf8(sequence)) return {-static_cast<std::int32_t>(lead), 1};
    static constexpr std::array<unsigned char, 5> bits_of_lead{0, 0x7f, 0x1f, 0x0f, 0x07};
    std::int32_t value = lead & bits_of_lead[sequence.size()];
    for (const char c : sequence.substr(1))
        value = value << 6 | (static_cast<unsigned char>(c) & 0x3f);
    return {value, sequence.size()};
}

/// True for characters that control a terminal and for invisible ones: joiners, soft hyphens, fillers, tags.
bool steers(std::int32_t character) {
    const auto within = [character](std::int32_t first, std::int32_t last) {
        return character >= first && character <= last;
    };
    return character < 0x20 || within(0x7f, 0x9f) || character == 0xad || character == 0x61c ||
           within(0x115f, 0x1160) || within(0x180b, 0x180f) || within(0x200b, 0x200f) || within(0x2028, 0x202e) ||
           within(0x2060, 0x206f) || character == 0x3164 || character == 0xfeff || character == 0xffa0 ||
           within(0xe0000, 0xe0fff);
}

std::string as_hex(const char* format, std::int32_t value) {
    std::array<char, 16> text{};
    const int length = std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(value));
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string escaped_character(std::int32_t character) {
    if (character < 0) return as_hex("\\x%02x", -character);
    if (character >= 0x10000) return as_hex("\\U%08x", character);
    return as_hex(character < 0x80 ? "\\x%02x" : "\\u%04x", character);
}

/// JSON escapes a character above U+FFFF as a surrogate pair.
std::string escaped_in_json(std::int32_t character) {
    if (character < 0x10000) return as_hex("\\u%04x", character);
    const std::int32_t rest = character - 0x10000;
    return as_hex("\\u%04x", 0xd800 + (rest >> 10)) + as_hex("\\u%04x", 0xdc00 + (rest & 0x3ff));
}

/// True for nearly all texts.
bool is_plain_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

std::string printable(std::string_view text) {
    if (is_plain_ascii(text)) return std::string(text);
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const Character first = first_of(text);
        shown += steers(first.value) ? escaped_character(first.value) : std::string(text.substr(0, first.length));
        text.remove_prefix(first.length);
    }
    return shown;
}

std::string printable_json(std::string_view json) {
    if (is_plain_ascii(json)) return std::string(json);
    std::string shown;
    shown.reserve(json.size());
    while (!json.empty()) {
        const Character first = first_of(json);
        const bool escape = first.value >= 0x7f && steers(first.value);  // lower ones are already escaped in JSON
        shown += escape ? escaped_in_json(first.value) : std::string(json.substr(0, first.length));
        json.remove_prefix(first.length);
    }
    return shown;
}

}  // namespace holdfast::inline base
