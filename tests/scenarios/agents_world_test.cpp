#include "scenarios/agents_world.h"

#include <gtest/gtest.h>

#include "support/seeds.h"

namespace holdfast::authority {
namespace {

std::string replay(const AgentsWorld::Options& options) {
    return "replay with seed " + std::to_string(options.seed);
}

TEST(AgentsWorld, never_stops_whatever_the_seed) {
    long jobs = 0;
    for (std::uint64_t seed = first_seed(), end = seed + 40; seed < end; ++seed) {
        AgentsWorld::Options options;
        options.agents = 60;
        options.folders = 3;
        options.files_per_folder = 8;
        options.seed = seed;
        AgentsWorld world(options);
        world.run_for(20min);
        ASSERT_EQ(world.violation(), std::nullopt) << replay(options);
        ASSERT_FALSE(world.stuck()) << replay(options);
        // The oldest is never overtaken, but it may itself be stopped, lose its leases and begin again several times.
        ASSERT_LT(world.longest_as_oldest(), Duration{10min}) << replay(options);
        jobs += world.counts().jobs;
    }
    EXPECT_GT(jobs, 2'000) << "too little happened to prove anything";
}

TEST(AgentsWorld, goes_the_same_way_for_the_same_seed) {
    AgentsWorld::Options options;
    options.seed = 7;
    AgentsWorld first(options);
    AgentsWorld second(options);
    first.run_for(10min);
    second.run_for(10min);
    EXPECT_EQ(first.counts().grants, second.counts().grants);
    EXPECT_EQ(first.counts().deaths, second.counts().deaths);
    options.seed = 8;
    AgentsWorld other(options);
    other.run_for(10min);
    EXPECT_NE(first.counts().deaths, other.counts().deaths);
}

TEST(AgentsWorld, of_plain_holders_that_hold_and_wait_comes_to_a_stop) {
    AgentsWorld::Options options;
    options.agents = 60;
    options.folders = 3;
    options.files_per_folder = 8;
    options.faults = false;
    options.plain = true;
    AgentsWorld world(options);
    world.run_for(2h);
    EXPECT_TRUE(world.stuck()) << "without wait-die these agents should wait for each other for ever";
}

}  // namespace
}  // namespace holdfast::authority
