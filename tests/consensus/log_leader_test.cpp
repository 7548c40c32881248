#include <gtest/gtest.h>

#include "consensus/replicated_log_impl.h"

namespace holdfast::consensus {
namespace {

LogPromise promise(std::vector<LogDecree> decrees, LogIndex committed = 0) {
    LogPromise told{
        .ballot = {9, 0}, .granted = true, .promised = {}, .committed = committed, .snapshot = {}, .decrees = {}};
    told.decrees = std::move(decrees);
    return told;
}

TEST(LogTakeover, takes_for_each_place_the_entry_with_the_highest_ballot) {
    LogTakeover takeover(1);
    takeover.add(1, promise({{1, {3, 0}, "a"}, {2, {5, 1}, "b"}}));
    takeover.add(2, promise({{1, {4, 1}, "A"}, {2, {3, 0}, "B"}, {3, {3, 0}, "C"}}, 1));
    EXPECT_EQ(takeover.newest(1)->value, "A");
    EXPECT_EQ(takeover.newest(2)->value, "b");
    EXPECT_EQ(takeover.newest(3)->value, "C");
    EXPECT_EQ(takeover.newest(4), nullptr);
    EXPECT_EQ(takeover.last(), 3U);
    EXPECT_EQ(takeover.committed(), 1U);
}

TEST(LogTakeover, counts_repliers_not_replies) {
    LogTakeover takeover(1);
    takeover.own_promise(0);
    takeover.own_promise(0);
    takeover.add(1, promise({}));
    takeover.add(1, promise({{1, {1, 1}, "late"}}));
    EXPECT_EQ(takeover.promises(), 2U);
    EXPECT_EQ(takeover.newest(1), nullptr);
}

TEST(LogTakeover, takes_the_snapshot_that_reaches_furthest) {
    LogTakeover takeover(1);
    LogPromise told = promise({});
    told.snapshot = {8, "eight"};
    takeover.add(1, told);
    told.snapshot = {5, "five"};
    takeover.add(2, told);
    EXPECT_EQ(takeover.snapshot()->state, "eight");
}

}  // namespace
}  // namespace holdfast::consensus
