#include "lease/resource.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

TEST(Normalised, names_are_one_name_for_one_thing) {
    const std::pair<const char*, const char*> table[] = {
        {"  room:42 ", "room:42"},
        {"API_ENDPOINT:/v1//users/", "API_ENDPOINT:/v1/users"},
        {"API_ENDPOINT:/", "API_ENDPOINT:/"},
        {"a//b///c", "a/b/c"},
        {"/", "/"},
        {"//", "/"},
        {"FILE:/src//main.c", "FILE:/src/main.c"},
        {"FILE:/src/", "FILE:/src"},
        {"FILE:/", "FILE:/"},
        {"FILE: src/./main.c ", "FILE:src/main.c"},
        {"FILE:./main.c", "FILE:main.c"},
        {"FILE:/src/**", "FILE:/src/**"},
        {"FILE:/src//**/", "FILE:/src/**"},
        {"FILE:/**", "FILE:/**"},
        {"FILE:src/**", "FILE:src/**"},
        {"SYMBOL:a::b..c/**/d", "SYMBOL:a::b..c/**/d"},
        {"DATABASE_TABLE:users", "DATABASE_TABLE:users"},
        {"   ", ""},
    };
    for (const auto& [given, wanted] : table) {
        ASSERT_TRUE(normalised(given)) << given;
        EXPECT_EQ(*normalised(given), wanted) << given;
        EXPECT_EQ(*normalised(*normalised(given)), wanted) << "twice is once: " << given;
    }
}

TEST(Normalised, file_paths_lead_nowhere_unknown) {
    for (const char* path : {"FILE:/a/../b", "FILE:..", "FILE:a/..", "FILE:/a/**/b", "FILE:**", "FILE:./**"})
        EXPECT_FALSE(normalised(path)) << path;
    EXPECT_TRUE(normalised("FILE:/a/..b/c**/***"));
}

TEST(FilePaths, are_only_those_of_files) {
    EXPECT_FALSE(file_path("room:1"));
    EXPECT_FALSE(file_path("@ns/room:1"));
    EXPECT_FALSE(file_path("file:/a"));
    EXPECT_EQ(file_path("FILE:/a/b")->path, "/a/b");
    EXPECT_FALSE(file_path("FILE:/a/b")->tree);
    EXPECT_EQ(file_path("@ns/FILE:/a/**")->scope, "@ns/FILE:");
    EXPECT_EQ(file_path("@ns/FILE:/a/**")->path, "/a");
    EXPECT_TRUE(file_path("@ns/FILE:/a/**")->tree);
    EXPECT_EQ(file_path("FILE:/**")->path, "");
}

TEST(FilePaths, overlap_where_one_lies_in_the_tree_of_the_other) {
    const auto overlaps = [](std::string_view a, std::string_view b) {
        const bool forth = overlap(*file_path(a), *file_path(b));
        EXPECT_EQ(forth, overlap(*file_path(b), *file_path(a))) << a << ' ' << b;
        return forth;
    };
    EXPECT_TRUE(overlaps("FILE:/a/**", "FILE:/a/b"));
    EXPECT_TRUE(overlaps("FILE:/a/**", "FILE:/a/b/c/**"));
    EXPECT_TRUE(overlaps("FILE:/**", "FILE:/a"));
    EXPECT_TRUE(overlaps("FILE:src/**", "FILE:src/x"));
    EXPECT_FALSE(overlaps("FILE:/a/**", "FILE:/a")) << "below it, not itself";
    EXPECT_FALSE(overlaps("FILE:/a/**", "FILE:/ab"));
    EXPECT_FALSE(overlaps("FILE:/a/**", "FILE:/ab/**"));
    EXPECT_FALSE(overlaps("FILE:/a", "FILE:/a/b")) << "neither is a tree";
    EXPECT_FALSE(overlaps("FILE:/**", "FILE:src/x")) << "a relative path is in no absolute tree";
    EXPECT_FALSE(overlaps("FILE:/a/**", "@ns/FILE:/a/b"));
}

}  // namespace
}  // namespace holdfast::lease
