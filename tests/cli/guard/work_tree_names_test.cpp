#include "cli/guard/work_tree_names.h"

#include <gtest/gtest.h>
#include <map>

namespace holdfast::cli::guard {
namespace {

TEST(WorkTreeNames, are_paths_from_the_root) {
    EXPECT_EQ(file_resource("src/main.c"), "FILE:/src/main.c");
    EXPECT_EQ(file_resource("with space/ä.c"), "FILE:/with space/ä.c");
    EXPECT_EQ(tree_resource("src"), "FILE:/src/**");
    EXPECT_EQ(tree_resource(""), "FILE:/**");
    EXPECT_EQ(shown_path("FILE:/src/main.c"), "src/main.c");
}

TEST(WorkTreeNames, hide_what_a_name_cannot_hold) {
    EXPECT_EQ(file_resource("new\nline"), "FILE:/new%0Aline");
    EXPECT_EQ(file_resource("delete\x7f"), "FILE:/delete%7F");
    EXPECT_EQ(file_resource("latin-\xe4.c"), "FILE:/latin-%E4.c");
    EXPECT_EQ(file_resource("cut-\xe2\x82"), "FILE:/cut-%E2%82");
    EXPECT_EQ(file_resource("end "), "FILE:/end%20");
    EXPECT_EQ(file_resource("a/**/b"), "FILE:/a/%2A%2A/b") << "no tree";
    EXPECT_EQ(file_resource("a/**"), "FILE:/a/%2A%2A");
    EXPECT_EQ(file_resource("a/x**"), "FILE:/a/x**");
}

TEST(WorkTreeNames, of_different_files_differ) {
    std::map<std::string, std::string> seen;
    for (const std::string path : {"a\n", "a%0A", "a%250A", "a%", "a%%0A", "a%\n", "a%2\n", "100%", "100%25", "a%0a",
                                   "**", "%2A%2A", "a ", "a%20", "\xff", "%FF"}) {
        const auto [place, is_new] = seen.emplace(file_resource(path), path);
        EXPECT_TRUE(is_new) << path << " and " << place->second << " are both " << place->first;
    }
    EXPECT_EQ(file_resource("100%"), "FILE:/100%") << "no escape where none is needed";
}

TEST(WorkTreeNames, are_the_same_for_both_forms_of_an_accent) {
    EXPECT_EQ(file_resource("caf\u0065\u0301.c"), file_resource("caf\u00e9.c"));
    EXPECT_EQ(tree_resource("caf\u0065\u0301"), "FILE:/caf\u00e9/**");
    EXPECT_EQ(file_resource("e\u0301-\xff"), "FILE:/e\u0301-%FF") << "not text, so no form of it";
}

}  // namespace
}  // namespace holdfast::cli::guard
