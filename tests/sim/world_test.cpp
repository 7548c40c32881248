#include "sim/world.h"

#include <gtest/gtest.h>

#include "sim/hunt.h"

namespace holdfast::sim {
namespace {

TEST(World, goes_the_same_way_for_the_same_seed) {
    const Outcome first = World(scenario_of(7)).run();
    const Outcome second = World(scenario_of(7), World::Traced::yes).run();
    EXPECT_EQ(first.events, second.events);
    EXPECT_EQ(first.work.grants, second.work.grants);
    EXPECT_EQ(first.cluster.messages, second.cluster.messages);
    EXPECT_EQ(first.simulated, second.simulated);
    EXPECT_TRUE(first.trace.empty());
    EXPECT_FALSE(second.trace.empty());
    EXPECT_NE(World(scenario_of(8)).run().events, first.events);
}

TEST(World, breaks_no_rule_and_does_useful_work) {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const auto failure = hunt(scenario_of(seed), tally);
        ASSERT_FALSE(failure) << failure->text();
    }
    EXPECT_GT(tally.cluster.past_restart, 0U);
    EXPECT_GT(tally.work.waited, 100U);
    EXPECT_GT(tally.work.abandoned, 0U);
    EXPECT_GT(tally.work.agents, 50U);
    EXPECT_GT(tally.work.deaths, 20U);
    EXPECT_GT(tally.work.banned, 100U);
    EXPECT_GT(tally.admins.done, 500U);
    EXPECT_GT(tally.log.leaders, tally.seeds) << "not more than one in each world";
    EXPECT_GT(tally.log.installs, 5U) << "nobody had to be brought along by a snapshot";
    EXPECT_GT(tally.log.snapshots, 0U) << "nobody found one at its start";
}

TEST(World, without_trouble_serves_everybody_and_loses_nothing) {
    Scenario scenario = scenario_of(4);
    scenario.faults.clear();
    scenario.late = 0;
    const Outcome outcome = World(scenario).run();
    ASSERT_FALSE(outcome.violation) << outcome.violation->what;
    EXPECT_EQ(outcome.cluster.restarts, 0U);
    EXPECT_GT(outcome.work.grants, 100U);
    EXPECT_LT(outcome.work.unavailable, outcome.work.requests / 100);
}

TEST(World, in_which_every_disk_stalls_keeps_its_leader_and_goes_on_granting) {  // L2, Q13
    std::uint64_t grants = 0, undisturbed = 0;
    for (std::uint64_t seed = 4; seed < 12; ++seed) {
        Scenario scenario = scenario_of(seed);
        scenario.late = 0;
        scenario.faults.clear();
        undisturbed += World(scenario).run().work.grants;
        for (unsigned node = 0; node < scenario.nodes; ++node)
            scenario.faults.push_back({FaultKind::stall, 15s, 40s, node, 0});
        const Outcome outcome = World(scenario).run();
        ASSERT_FALSE(outcome.violation) << outcome.violation->what;
        EXPECT_EQ(outcome.log.leaders, 1U) << "seed " << seed;
        EXPECT_GT(outcome.admins.unavailable, 5U) << "as if no disk had been needed, seed " << seed;
        grants += outcome.work.grants;
    }
    EXPECT_GT(grants, undisturbed * 3 / 4);
}

TEST(World, in_which_nothing_happens_is_not_taken_for_a_proof) {
    Scenario scenario = scenario_of(4);
    scenario.faults.clear();
    Tally tally;
    const auto failure = hunt(scenario, tally);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->violation.rule, "useful work");
}

}  // namespace
}  // namespace holdfast::sim
