#include "cli/table.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::cli {
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

struct Found {
    std::size_t at = std::string_view::npos;
    std::string_view sequence;  ///< empty: none found
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

}  // namespace holdfast::cli
