#include "cli/table.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(Table, lines_columns_up) {
    Table table{{"NAME", "N"}};
    table.add({{"a"}, {"1"}});
    table.add({{"longer"}, {"22"}});
    EXPECT_EQ(table.to_text(false), "NAME    N\na       1\nlonger  22\n");
}

TEST(Table, counts_characters_and_not_bytes) {
    Table table{{"NAME", "N"}};
    table.add({{"äöü"}, {"1"}});
    table.add({{"abcd"}, {"2"}});
    EXPECT_EQ(table.to_text(false), "NAME  N\näöü   1\nabcd  2\n");
}

TEST(Table, colours_do_not_shift_columns) {
    Table table{{"A", "B"}};
    table.add({{"xx", Colour::red}, {"y"}});
    EXPECT_EQ(table.to_text(true), "\x1b[1mA\x1b[0m   \x1b[1mB\x1b[0m\n\x1b[31mxx\x1b[0m  y\n");
    EXPECT_EQ(table.to_text(false), "A   B\nxx  y\n");
}

TEST(Table, lets_no_control_character_through) {
    Table table{{"A"}};
    table.add({{"a\x1b[2Jb\nc"}});
    EXPECT_EQ(table.to_text(false), "A\na\\x1b[2Jb\\x0ac\n");
}

TEST(Printable, escapes_what_steers_a_terminal_and_nothing_else) {
    EXPECT_EQ(printable("plain äöü 日本 \xf0\x9f\x94\x92 a\\b"), "plain äöü 日本 \xf0\x9f\x94\x92 a\\b");
    EXPECT_EQ(printable("\x1b]0;title\x07\r\n\t\x7f"), "\\x1b]0;title\\x07\\x0d\\x0a\\x09\\x7f");
    EXPECT_EQ(printable("c1 \u009b2J \u0085"), "c1 \\u009b2J \\u0085");
    EXPECT_EQ(printable("bidi \u202e \u2066 \u2069 \u200f \u061c"), "bidi \\u202e \\u2066 \\u2069 \\u200f \\u061c");
    EXPECT_EQ(printable("\u2028"), "\\u2028");
    EXPECT_EQ(printable("a\u200bb\u00adc\ufeffd\u2060\u200d"), "a\\u200bb\\u00adc\\ufeffd\\u2060\\u200d");
    EXPECT_EQ(printable("tag \U000e0041"), "tag \\U000e0041");
    EXPECT_EQ(printable("\x9b"
                        "2J \xff"),
              "\\x9b2J \\xff")
        << "no text: a terminal may read it as C1";
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
    EXPECT_EQ(printable(printable("a\x1b\u202e")), printable("a\x1b\u202e"));
}

TEST(Printable, lines_keep_their_own_colours) {
    const std::string line =
        coloured("green\x1b[2J", Colour::green, true) + " \x1b[5m " + coloured("b", Colour::bold, true);
    EXPECT_EQ(printable_line(line), "\x1b[32mgreen\\x1b[2J\x1b[0m \\x1b[5m \x1b[1mb\x1b[0m");
    EXPECT_EQ(printable_line("a\nb"), "a\\x0ab");
}

TEST(Printable, json_stays_the_same_json) {
    EXPECT_EQ(printable_json("{\"a\":\"\\u001b \u009b\u202e\x7f ä\"}"), "{\"a\":\"\\u001b \\u009b\\u202e\\u007f ä\"}");
    EXPECT_EQ(printable_json("\"\U000e0041\u200b \U0001f512\""), "\"\\udb40\\udc41\\u200b \U0001f512\"");
}

}  // namespace
}  // namespace holdfast::cli
