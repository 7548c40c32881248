#include "cli/work_tree_names.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

namespace holdfast {
namespace {

std::string by_path(const std::string& path) {
    const auto name = named_by_path("/home/me/repository", path);
    return name ? *name : name.error().code;
}

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

TEST(WorkTreeNames, can_be_found_by_any_path_to_the_file) {
    EXPECT_EQ(by_path("src/main.c"), "FILE:/src/main.c");
    EXPECT_EQ(by_path("./src//net/../main.c"), "FILE:/src/main.c");
    EXPECT_EQ(by_path("/home/me/repository/src/main.c"), "FILE:/src/main.c");
    EXPECT_EQ(by_path("src/"), "FILE:/src");
    EXPECT_EQ(by_path("src/**"), "FILE:/src/**");
    EXPECT_EQ(by_path("/home/me/repository/**"), "FILE:/**");
    EXPECT_EQ(by_path("**"), "FILE:/**");
    EXPECT_EQ(by_path("./**"), "FILE:/**");
}

TEST(WorkTreeNames, are_refused_for_what_is_outside) {
    for (const char* path : {"..", "../other", "src/../../other", "/home/me/repository2/a", "/", "/**", "../**"})
        EXPECT_EQ(by_path(path), "invalid_argument") << path;
    for (const char* path : {"", ".", "src/..", "/home/me/repository"})
        EXPECT_EQ(by_path(path), "invalid_argument") << path << " is the root itself";
}

TEST(WorkTreeNames, see_through_a_link_on_the_way_to_the_root) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::canonical(testing::TempDir()) / ("holdfast-names-" + std::to_string(getpid()));
    fs::create_directories(folder / "real/src");
    fs::create_directory_symlink(folder / "real", folder / "link");
    fs::create_symlink("elsewhere", folder / "real/src/symlink");
    const auto name = named_by_path((folder / "real").string(), (folder / "link/src/symlink").string());
    EXPECT_TRUE(name && *name == "FILE:/src/symlink") << "the link that git keeps is not followed";
    const auto tree = named_by_path((folder / "real").string(), (folder / "link/**").string());
    EXPECT_TRUE(tree && *tree == "FILE:/**");
    fs::remove_all(folder);
}

}  // namespace
}  // namespace holdfast
