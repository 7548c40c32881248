#include <gtest/gtest.h>

#include "scenarios/agents_world.h"

namespace holdfast::authority {
namespace {

TEST(AgentsWorld, of_a_thousand_agents_goes_on_for_an_hour_without_overlap_deadlock_or_starvation) {
    AgentsWorld::Options options;
    options.agents = 1000;
    options.folders = 100;
    options.files_per_folder = 20;
    options.seed = 20261115;
    AgentsWorld world(options);
    world.run_for(1h);
    EXPECT_EQ(world.violation(), std::nullopt) << "replay with seed " << options.seed;
    EXPECT_FALSE(world.stuck()) << "replay with seed " << options.seed;
    EXPECT_LT(world.longest_as_oldest(), Duration{5min})
        << "the oldest did not get through; replay with seed " << options.seed;
    const auto& counts = world.counts();
    std::printf(
        "jobs %ld grants %ld waits %ld deaths %ld lost %ld restarts %ld resumed %ld too late %ld, oldest for at most "
        "%ld s\n",
        counts.jobs, counts.grants, counts.waits, counts.deaths, counts.lost, counts.restarts, counts.resumed,
        counts.too_late, static_cast<long>(to_ms(world.longest_as_oldest()) / 1000));
    EXPECT_GT(counts.jobs, 5'000);
    EXPECT_GT(counts.waits, 1'000);
    EXPECT_GT(counts.deaths, 1'000);
    EXPECT_GT(counts.lost, 10);
    EXPECT_GT(counts.resumed, 10);
    EXPECT_GT(counts.too_late, 10);
}

}  // namespace
}  // namespace holdfast::authority
