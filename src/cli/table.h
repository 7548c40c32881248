#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

enum class Colour { none, bold, dim, red, green, yellow };

/// Text for people: what others wrote must not steer a terminal, nor show in another order than it has. Control
/// characters (C0, DEL, C1), line separators, marks of direction and bytes that are no text are shown as `\x1b` and
/// `\u202e`. Twice is the same as once.
std::string printable(std::string_view text);

/// The same for a line that may have colours of coloured() in it, which stay.
std::string printable_line(std::string_view line);

/// The same for JSON: it stays the same JSON.
std::string printable_json(std::string_view json);

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

}  // namespace holdfast
