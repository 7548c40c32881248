// Too many worlds for a sanitizer, which the few of world_test.cpp have seen.

#include <gtest/gtest.h>

#include "sim/session.h"

namespace holdfast::sim {
namespace {

TEST(ManyWorlds, break_no_rule_and_reach_what_is_rare) {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const auto failure = hunt(scenario_of(seed), tally);
        ASSERT_FALSE(failure) << failure->text();
    }
    TextReport(true).finished(tally, {});
    EXPECT_GT(tally.work.grants, 15'000U) << "too little happened to prove anything";
    EXPECT_GT(tally.work.renewals, 15'000U);
    EXPECT_GT(tally.handovers, 15'000U);
    EXPECT_GT(tally.work.deaths, 500U);
    EXPECT_GT(tally.cluster.restarts, 700U);
    EXPECT_GT(tally.cluster.clean, 100U);
    EXPECT_GT(tally.cluster.copies, 10U) << "earlier copies of a directory that were put back";
    EXPECT_GT(tally.cluster.refused, 10U);
    EXPECT_GT(tally.cluster.past_restart, 1'000U);
    EXPECT_GT(tally.log.entries, 20'000U);
    EXPECT_GT(tally.log.leaders, 600U);
    EXPECT_GT(tally.log.installs, 300U);
    EXPECT_GT(tally.log.snapshots, 60U);
}

TEST(EveryOrder, of_two_requests_breaks_no_rule_up_to_its_bound) {
    TextReport report(true);
    SessionOptions options;
    options.exhaustive = true;
    options.max_states = 50'000;
    EXPECT_EQ(run_session(options, report), 0);
}

}  // namespace
}  // namespace holdfast::sim
