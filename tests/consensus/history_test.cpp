#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "consensus/log_world.h"
#include "support/seeds.h"

namespace holdfast::consensus {
namespace {

void seeds(std::uint8_t nodes, std::uint64_t count) {
    LogWorld::Seen seen;
    for (std::uint64_t seed = first_seed(), end = seed + count; seed < end; ++seed)
        ASSERT_EQ(run_history({.nodes = nodes, .steps = 600, .seed = seed}, &seen), std::nullopt) << "seed " << seed;
    std::printf("%d nodes: %ld acknowledged, %ld takeovers, %ld restarts, %ld installs, %ld failed writes\n", nodes,
                seen.acknowledged, seen.takeovers, seen.restarts, seen.installs, seen.failed_writes);
    const long floor = static_cast<long>(count);
    EXPECT_GT(seen.acknowledged, floor * 4) << "too little happened to prove anything";
    EXPECT_GT(seen.takeovers, floor * 2);
    EXPECT_GT(seen.restarts, floor);
    EXPECT_GT(seen.installs, floor / 4);
    EXPECT_GT(seen.failed_writes, floor / 4);
}

TEST(LogHistory, of_one_node_never_loses_or_changes_what_was_acknowledged) {
    seeds(1, 400);
}

TEST(LogHistory, of_three_nodes_never_loses_or_changes_what_was_acknowledged) {
    seeds(3, 1500);
}

TEST(LogHistory, of_five_nodes_never_loses_or_changes_what_was_acknowledged) {
    seeds(5, 600);
}

RC_GTEST_PROP(LogHistory, of_any_steps_keeps_the_rules, ()) {
    const auto nodes = *rc::gen::element<std::uint8_t>(1, 3, 5);
    const auto step =
        rc::gen::construct<Step>(rc::gen::inRange(0, 24), rc::gen::inRange(0, 1000), rc::gen::inRange(0, 100));
    const auto steps = *rc::gen::scale(8.0, rc::gen::container<std::vector<Step>>(step));
    LogWorld world({.nodes = nodes, .entries_before_snapshot = 4});
    for (const Step& one : steps)
        world.run(one);
    world.heal();
    RC_ASSERT(world.violation().value_or("") == "");
}

}  // namespace
}  // namespace holdfast::consensus
