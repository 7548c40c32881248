#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"

namespace holdfast::cli {

enum class Colour { none, bold, dim, red, green, yellow };

/// As printable(), but keeps the colours of coloured().
std::string printable_line(std::string_view line);

/// The text in a colour, if `on`.
std::string coloured(std::string_view text, Colour colour, bool on);

/// Rows under headings, in columns as wide as needed.
class Table {
 public:
    struct Cell {
        std::string text;
        Colour colour = Colour::none;
    };
    using Row = std::vector<Cell>;

    explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

    /// REQUIRES: one cell per heading.
    void add(Row row);
    std::string to_text(bool colours) const;

 private:
    std::vector<std::string> headings_;
    std::vector<Row> rows_;
};

}  // namespace holdfast::cli
