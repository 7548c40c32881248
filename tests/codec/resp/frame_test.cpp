#include "codec/frame.h"

#include <gtest/gtest.h>

namespace holdfast::codec::resp {
namespace {

TEST(Frames, are_cut_off_one_by_one_and_only_when_they_are_complete) {
    std::string bytes;
    append_frame("first", bytes);
    append_frame("", bytes);
    append_frame("third", bytes);
    for (std::size_t there = 0; there < 9; ++there) {
        std::string_view part(bytes.data(), there);
        EXPECT_FALSE(*take_frame(part, 100)) << there;
        EXPECT_EQ(part.size(), there);
    }
    std::string_view rest = bytes;
    EXPECT_EQ(**take_frame(rest, 100), "first");
    EXPECT_EQ(**take_frame(rest, 100), "");
    EXPECT_EQ(**take_frame(rest, 100), "third");
    EXPECT_TRUE(rest.empty());
}

TEST(Frames, that_are_too_large_are_refused_before_they_have_come) {
    std::string_view length("\0\0\0\x65", 4);
    EXPECT_EQ(take_frame(length, 100).error().code, Code::too_large);
    EXPECT_TRUE(take_frame(length, 101));
}

}  // namespace
}  // namespace holdfast::codec::resp
