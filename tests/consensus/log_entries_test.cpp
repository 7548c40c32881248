#include "consensus/log_entries.h"

#include <gtest/gtest.h>

namespace holdfast::consensus {
namespace {

constexpr LogBallot first_ballot{1, 0};
constexpr LogBallot second_ballot{2, 1};

LogWrite written(LogIndex index, LogBallot ballot, std::string value) {
    LogWrite write;
    write.decrees.push_back({index, ballot, std::move(value)});
    return write;
}

LogEntries with_three_of_the_first() {
    return LogEntries(
        LogFound{first_ballot, 1, {}, {{1, first_ballot, "a"}, {2, first_ballot, "b"}, {3, first_ballot, "c"}}});
}

TEST(LogEntries, finds_after_a_restart_what_it_holds_under_its_promise) {
    const LogEntries entries = with_three_of_the_first();
    EXPECT_EQ(entries.committed(), 1U);
    EXPECT_EQ(entries.held_to(), 3U);
    EXPECT_EQ(entries.durable_to(), 3U);
}

TEST(LogEntries, holds_only_what_is_committed_once_it_promises_another) {
    LogEntries entries = with_three_of_the_first();
    entries.promise(second_ballot);
    EXPECT_EQ(entries.held_to(), 1U);
    EXPECT_EQ(entries.durable_to(), 1U);
    EXPECT_EQ(entries.last(), 3U) << "a new leader must hear of them";
    EXPECT_EQ(entries.from(2).size(), 2U);
}

TEST(LogEntries, an_entry_under_a_newer_ballot_replaces_the_older_and_leaves_those_behind_it) {
    LogEntries entries = with_three_of_the_first();
    entries.promise(second_ballot);
    entries.accept("B");
    EXPECT_EQ(entries.held_to(), 2U);
    EXPECT_EQ(entries.at(2).value, "B");
    EXPECT_EQ(entries.at(3).value, "c");
    EXPECT_EQ(entries.at(3).ballot, first_ballot);
    EXPECT_EQ(entries.durable_to(), 1U);
}

TEST(LogEntries, what_was_written_counts_only_under_the_ballot_it_was_written_with) {
    LogEntries entries = with_three_of_the_first();
    entries.promise(second_ballot);
    entries.accept("B");
    entries.written(written(2, first_ballot, "b"));
    EXPECT_EQ(entries.durable_to(), 1U);
    entries.written(written(2, second_ballot, "B"));
    EXPECT_EQ(entries.durable_to(), 2U);
}

TEST(LogEntries, is_durable_only_without_a_gap) {
    LogEntries entries{LogFound{}};
    entries.promise(first_ballot);
    entries.accept("a");
    entries.accept("b");
    entries.written(written(2, first_ballot, "b"));
    EXPECT_EQ(entries.durable_to(), 0U);
    entries.written(written(1, first_ballot, "a"));
    EXPECT_EQ(entries.durable_to(), 2U);
}

TEST(LogEntries, a_snapshot_keeps_what_was_accepted_beyond_it) {
    LogEntries entries = with_three_of_the_first();
    entries.promise(second_ballot);
    entries.install({2, "ab"});
    EXPECT_EQ(entries.base(), 2U);
    EXPECT_EQ(entries.committed(), 2U);
    EXPECT_EQ(entries.last(), 3U);
    EXPECT_EQ(entries.at(3).value, "c") << "it may have been chosen";
    EXPECT_EQ(entries.held_to(), 2U);
}

TEST(LogEntries, a_snapshot_beyond_the_end_counts_once_it_is_written) {
    LogEntries entries = with_three_of_the_first();
    entries.install({9, "state"});
    EXPECT_EQ(entries.last(), 9U);
    EXPECT_EQ(entries.durable_to(), 3U);
    LogWrite write;
    write.snapshot = {9, "state"};
    entries.written(write);
    EXPECT_EQ(entries.durable_to(), 9U);
    entries.install({5, "older"});
    EXPECT_EQ(entries.base(), 9U);
}

TEST(LogEntries, a_snapshot_of_what_is_on_disk_need_not_be_waited_for) {
    LogEntries entries = with_three_of_the_first();
    entries.commit(3);
    entries.install({3, "abc"});
    EXPECT_EQ(entries.durable_to(), 3U);
}

}  // namespace
}  // namespace holdfast::consensus
