#include "statefile/state_dir.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "statefile/scratch_dir.h"
#include "statefile/state_db.h"

namespace holdfast::statefile {
namespace {

TEST(StateDir, is_created_with_its_parents_for_its_owner_only) {
    const ScratchDir scratch;
    const auto directory = StateDir::open(scratch.file("a/b/c"));
    ASSERT_TRUE(directory) << directory.error().message;
    struct stat found {};
    ASSERT_EQ(::stat(scratch.file("a/b/c").c_str(), &found), 0);
    EXPECT_TRUE(S_ISDIR(found.st_mode));
    EXPECT_EQ(found.st_mode & 0777, 0700U);
}

unsigned mode_of(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 0777U;
}

TEST(StateFile, and_its_journal_are_their_owners_only_and_become_so) {
    const ScratchDir scratch;
    const std::string path = scratch.file("state.db");
    const mode_t before = ::umask(0);
    for (int opened = 0; opened < 2; ++opened) {
        const auto database = open_state_file(path);
        ASSERT_TRUE(database) << database.error().message;
        (*database)->run("CREATE TABLE IF NOT EXISTS written(a)");
        EXPECT_EQ(mode_of(path), 0600U);
        EXPECT_EQ(mode_of(path + "-wal"), 0600U);
        std::filesystem::permissions(path, std::filesystem::perms(0666));  // as an older server left it
    }
    std::ofstream(path + "-wal").flush();
    std::filesystem::permissions(path + "-wal", std::filesystem::perms(0666));
    const auto database = open_state_file(path);
    ::umask(before);
    ASSERT_TRUE(database) << database.error().message;
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_EQ(mode_of(path + "-wal"), 0600U);
}

TEST(StateDir, refuses_a_second_server_and_names_the_first) {
    const ScratchDir scratch;
    const auto first = StateDir::open(scratch.path());
    ASSERT_TRUE(first);
    const auto second = StateDir::open(scratch.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::state_in_use);
    EXPECT_NE(second.error().message.find(scratch.path()), std::string::npos) << second.error().message;
    EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid())), std::string::npos)
        << second.error().message;
}

TEST(StateDir, is_free_again_when_its_owner_is_gone) {
    const ScratchDir scratch;
    {
        const auto first = StateDir::open(scratch.path());
        ASSERT_TRUE(first);
    }
    EXPECT_TRUE(StateDir::open(scratch.path()));
}

TEST(StateDir, says_what_is_wrong_with_a_path_that_cannot_be_a_directory) {
    const ScratchDir scratch;
    std::ofstream(scratch.file("plain")) << "text";
    const auto directory = StateDir::open(scratch.file("plain/below"));
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code, Code::state_unusable);
    EXPECT_NE(directory.error().message.find("plain"), std::string::npos) << directory.error().message;
    EXPECT_FALSE(StateDir::open(""));
}

/// The environment as one test wants it; put back at the end.
class StateHome : public testing::Test {
 protected:
    void SetUp() override {
        for (const char* name : {"HOLDFAST_STATE_DIR", "STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"}) {
            const char* value = std::getenv(name);
            before_[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
            ::unsetenv(name);
        }
    }
    void TearDown() override {
        for (const auto& [name, value] : before_) {
            if (value) ::setenv(name.c_str(), value->c_str(), 1);
            if (!value) ::unsetenv(name.c_str());
        }
    }

    std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(StateHome, is_found_in_the_order_of_what_was_said_most_plainly) {
    ::setenv("HOME", "/h", 1);
    EXPECT_EQ(*default_state_dir(), "/h/.local/state/holdfast");
    ::setenv("XDG_STATE_HOME", "/x", 1);
    EXPECT_EQ(*default_state_dir(), "/x/holdfast");
    ::setenv("STATE_DIRECTORY", "/var/lib/holdfast:/other", 1);
    EXPECT_EQ(*default_state_dir(), "/var/lib/holdfast");
    ::setenv("HOLDFAST_STATE_DIR", "/mine", 1);
    EXPECT_EQ(*default_state_dir(), "/mine");
}

TEST_F(StateHome, falls_back_to_the_home_of_the_user) {
    const auto found = default_state_dir();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ends_with("/.local/state/holdfast")) << *found;
}

}  // namespace
}  // namespace holdfast::statefile
