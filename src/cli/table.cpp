#include "cli/table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <utf8proc.h>

#include "base/assert.h"

namespace holdfast {
namespace {

constexpr std::string_view colour_ends = "\x1b[0m";

/// Characters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string_view escape_of(Colour colour) {
    switch (colour) {
        case Colour::none:
            return "";
        case Colour::bold:
            return "\x1b[1m";
        case Colour::dim:
            return "\x1b[2m";
        case Colour::red:
            return "\x1b[31m";
        case Colour::green:
            return "\x1b[32m";
        case Colour::yellow:
            return "\x1b[33m";
    }
    return "";
}

struct Character {
    std::int32_t value = 0;  ///< negative: a byte that is no text
    std::size_t length = 1;
};

/// REQUIRES: the text is not empty.
Character first_of(std::string_view text) {
    utf8proc_int32_t value = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                         static_cast<utf8proc_ssize_t>(text.size()), &value);
    if (length > 0) return {value, static_cast<std::size_t>(length)};
    return {-static_cast<std::int32_t>(static_cast<unsigned char>(text[0])), 1};
}

/// True for what a terminal obeys instead of showing it.
bool steers(std::int32_t character) {
    const auto within = [character](std::int32_t first, std::int32_t last) {
        return character >= first && character <= last;
    };
    return character < 0x20 || within(0x7f, 0x9f) || character == 0x61c || within(0x200e, 0x200f) ||
           within(0x2028, 0x202e) || within(0x2066, 0x2069);
}

std::string as_hex(const char* format, std::int32_t value) {
    std::array<char, 16> text{};
    const int length = std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(value));
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string escaped_character(std::int32_t character) {
    if (character < 0) return as_hex("\\x%02x", -character);
    return as_hex(character < 0x80 ? "\\x%02x" : "\\u%04x", character);
}

struct Found {
    std::size_t at = std::string_view::npos;
    std::string_view sequence;  ///< empty: there is none
};

/// The first sequence of coloured() in the line.
Found first_colour(std::string_view line) {
    Found found;
    for (const Colour colour : {Colour::bold, Colour::dim, Colour::red, Colour::green, Colour::yellow})
        if (const std::size_t at = line.find(escape_of(colour)); at < found.at) found = {at, escape_of(colour)};
    if (const std::size_t at = line.find(colour_ends); at < found.at) found = {at, colour_ends};
    return found;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const Character first = first_of(text);
        shown += steers(first.value) ? escaped_character(first.value) : std::string(text.substr(0, first.length));
        text.remove_prefix(first.length);
    }
    return shown;
}

std::string printable_line(std::string_view line) {
    std::string shown;
    for (;;) {
        const Found found = first_colour(line);
        shown += printable(line.substr(0, found.at));
        if (found.sequence.empty()) return shown;
        shown += found.sequence;
        line.remove_prefix(found.at + found.sequence.size());
    }
}

std::string printable_json(std::string_view json) {
    std::string shown;
    shown.reserve(json.size());
    while (!json.empty()) {
        const Character first = first_of(json);
        const bool escape = first.value >= 0x7f && steers(first.value);  // those below are escaped already
        shown += escape ? as_hex("\\u%04x", first.value) : std::string(json.substr(0, first.length));
        json.remove_prefix(first.length);
    }
    return shown;
}

std::string coloured(std::string_view text, Colour colour, bool on) {
    if (!on || colour == Colour::none) return std::string(text);
    return std::string(escape_of(colour)).append(text).append(colour_ends);
}

void Table::add(Row row) {
    HOLDFAST_ASSERT(row.size() == headings_.size());
    for (Cell& cell : row)
        cell.text = printable(cell.text);
    rows_.push_back(std::move(row));
}

std::string Table::to_text(bool colours) const {
    std::vector<std::size_t> widths;
    Row headings;
    for (const std::string& heading : headings_) {
        widths.push_back(width(heading));
        headings.push_back({heading, Colour::bold});
    }
    for (const Row& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width(row[i].text));

    std::string text;
    const auto print = [&](const Row& row) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += coloured(row[i].text, row[i].colour, colours);
            if (i + 1 < row.size()) text.append(widths[i] - width(row[i].text) + 2, ' ');
        }
        text += '\n';
    };
    print(headings);
    for (const Row& row : rows_)
        print(row);
    return text;
}

}  // namespace holdfast
