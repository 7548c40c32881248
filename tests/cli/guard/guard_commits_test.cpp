#include "cli/guard/guard_commits.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace holdfast::cli::guard {
namespace {

const std::string none(40, '0');
const std::string first_commit(40, 'a');
const std::string second_commit(40, 'b');

TEST(GuardCommits, of_a_transaction_only_branches_that_stay_or_come_count) {
    const std::string input = first_commit + " " + second_commit + " HEAD\n" + first_commit + " " + second_commit +
                              " refs/heads/main\n" + none + " " + second_commit + " refs/heads/new\n" + first_commit +
                              " " + none + " refs/heads/gone\n" + none + " " + second_commit + " refs/tags/v1\n" +
                              none + " " + second_commit + " refs/remotes/origin/main\n" + none + " " + second_commit +
                              " refs/stash\n";
    EXPECT_EQ(read_transaction(input),
              (std::vector<BranchUpdate>{{"refs/heads/main", second_commit}, {"refs/heads/new", second_commit}}));
    EXPECT_TRUE(read_transaction("").empty());
    EXPECT_TRUE(read_transaction("garbage\n\n").empty());
}

TEST(GuardCommits, of_a_push_deletions_do_not_count) {
    const std::string input = "refs/heads/main " + second_commit + " refs/heads/main " + first_commit +
                              "\nrefs/heads/new " + second_commit + " refs/heads/new " + none + "\n(delete) " + none +
                              " refs/heads/gone " + first_commit + "\n";
    EXPECT_EQ(read_pushed(input), (std::vector<PushedTip>{{second_commit, first_commit}, {second_commit, ""}}));
    EXPECT_TRUE(read_pushed("").empty());
}

TEST(GuardCommits, that_were_checked_are_known_to_the_next_hook) {
    const std::string path = testing::TempDir() + "holdfast-checked-" + std::to_string(getpid());
    CheckedCommits first{path};
    EXPECT_FALSE(first.contains(first_commit));
    first.add({{first_commit, {}}});
    CheckedCommits second{path};
    EXPECT_TRUE(second.contains(first_commit));
    EXPECT_FALSE(second.contains(second_commit));
    second.add({{first_commit, {}}, {second_commit, {}}});
    EXPECT_EQ(std::filesystem::file_size(path), 82U) << "each once";
    second.begin_at("");
    EXPECT_EQ(CheckedCommits{path}.base(), "");
    second.begin_at(first_commit);
    second.begin_at(second_commit);
    EXPECT_EQ(CheckedCommits{path}.base(), first_commit) << "set once";
    second.forget_base();
    EXPECT_EQ(CheckedCommits{path}.base(), "");
    std::filesystem::remove(path);
    CheckedCommits nowhere{"/nonexistent/directory/file"};
    nowhere.add({{first_commit, {}}});
    EXPECT_TRUE(nowhere.contains(first_commit));
}

}  // namespace
}  // namespace holdfast::cli::guard
