#include "doors/resp/scan_cursors.h"

#include <gtest/gtest.h>

namespace holdfast::doors::resp {
namespace {

TEST(ScanCursors, pass_on_numbers_and_keep_a_place_for_what_is_none) {
    ScanCursors cursors;
    EXPECT_EQ(cursors.number_of(""), "0");
    EXPECT_EQ(cursors.next_of(0), "");
    EXPECT_EQ(cursors.number_of("4711"), "4711");
    EXPECT_EQ(cursors.next_of(4711), "4711");
    const std::string number = cursors.number_of("after:room:7");
    EXPECT_EQ(cursors.next_of(*parse_number(number)), "after:room:7");
    EXPECT_EQ(cursors.next_of(*parse_number(number)), "after:room:7") << "it may be asked for again";
}

TEST(ScanCursors, forget_those_of_long_ago) {
    ScanCursors cursors;
    const std::string first = cursors.number_of("first");
    for (int i = 0; i < 16; ++i)
        cursors.number_of("page " + std::to_string(i));
    EXPECT_EQ(cursors.next_of(*parse_number(first)), first) << "which no store knows";
}

}  // namespace
}  // namespace holdfast::doors::resp
