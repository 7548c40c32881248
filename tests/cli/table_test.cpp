#include "cli/table.h"

#include <gtest/gtest.h>

namespace holdfast {
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
    EXPECT_EQ(table.to_text(false), "A\na?[2Jb?c\n");
}

}  // namespace
}  // namespace holdfast
