#include "cli/guard/git_repository.h"

#include <gtest/gtest.h>

namespace holdfast::cli::guard {
namespace {

using namespace std::string_literals;

TEST(RawDiff, tells_every_kind_of_change) {
    const auto files = read_raw_diff(
        ":000000 100644 0000000 1111111 A\0new file\0"
        ":100644 000000 1111111 0000000 D\0gone\0"
        ":100644 100755 1111111 1111111 M\0mode\0"
        ":100644 120000 1111111 2222222 T\0type\0"
        ":160000 160000 1111111 2222222 M\0sub\0"s);
    ASSERT_TRUE(files);
    EXPECT_EQ(*files, (std::vector<TouchedFile>{{"new file", FileChange::added},
                                                {"gone", FileChange::deleted},
                                                {"mode", FileChange::modified},
                                                {"type", FileChange::modified},
                                                {"sub", FileChange::modified}}));
}

TEST(RawDiff, keeps_any_bytes_of_a_name) {
    const auto files = read_raw_diff(":100644 100644 1 2 M\0:odd\n\"name\" \xff M\0"s);
    ASSERT_TRUE(files);
    EXPECT_EQ(files->at(0).path, ":odd\n\"name\" \xff M");
}

TEST(RawDiff, of_nothing_is_empty) {
    const auto files = read_raw_diff("");
    ASSERT_TRUE(files);
    EXPECT_TRUE(files->empty());
}

TEST(RawDiff, refuses_what_it_does_not_understand) {
    for (const std::string& output :
         {"garbage"s, ":100644 100644 1 2 M\0"s, ":100644 100644 1 2 M\0path"s, "100644 M\0path\0"s, ":M\0path\0"s,
          ":100644 100644 1 2 \0path\0"s, ":100644 100644 1 2 R100\0old\0new\0"s, ":100644 100644 1 2 M\0\0"s, "\0"s})
        EXPECT_FALSE(read_raw_diff(output)) << output;
}

}  // namespace
}  // namespace holdfast::cli::guard
