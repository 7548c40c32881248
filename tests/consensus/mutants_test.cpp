// Each mutant switches one rule of the log off (tests/mutants). The histories must notice, and must notice nothing when
// none is active.

#include <gtest/gtest.h>

#include "consensus/log_world.h"
#include "mutants/mutant.h"

namespace holdfast::consensus {
namespace {

constexpr std::uint64_t seeds = 600;

struct Caught {
    std::uint64_t seed = 0;
    std::string how;
};

std::optional<Caught> hunt(std::string_view mutant) {
    active_mutant = mutant;
    std::optional<Caught> caught;
    for (std::uint64_t seed = 1; seed <= seeds && !caught; ++seed) {
        auto how = run_history({.nodes = 3, .steps = 600, .seed = seed, .looks_at_disks = false});
        // To get stuck is a fault too, but the rule is about what is lost or forked.
        if (how && (mutant.empty() || !how->starts_with("the faults have stopped"))) caught = Caught{seed, *how};
    }
    active_mutant = {};
    return caught;
}

TEST(LogMutants, are_all_caught) {
    for (const char* mutant : {"acknowledged_before_durable", "recovery_skipped"}) {
        const auto caught = hunt(mutant);
        ASSERT_TRUE(caught) << mutant << ": nobody noticed that this was switched off";
        std::printf("%-28s by seed %lu: %s\n", mutant, static_cast<unsigned long>(caught->seed), caught->how.c_str());
    }
}

/// A node promises to follow a new leader and dies before its disk has that. The former leader, which has not heard of
/// the new one, finds a majority with it; and so does the new one, at the same place of the log (L1).
std::optional<std::string> two_leaders_and_a_promise() {
    LogWorld world({.nodes = 3, .looks_at_disks = false});
    world.lead(0);
    world.quiet();
    world.submit(0);
    world.quiet();
    world.cut(0, 1);
    world.cut(1, 0);
    world.stall(2);
    world.lead(1);
    world.quiet();
    world.crash(2, false);
    world.stall(2, false);
    world.restart(2);
    world.submit(0);
    world.quiet();
    if (world.up(1)) world.submit(1);
    for (int i = 0; i < 10; ++i) {
        world.pass(500ms);
        world.quiet();
    }
    return world.violation();
}

TEST(LogMutants, include_a_promise_that_is_answered_before_it_is_durable) {
    EXPECT_EQ(two_leaders_and_a_promise().value_or(""), "");
    active_mutant = "promise_not_durable";
    EXPECT_TRUE(two_leaders_and_a_promise()) << "nobody noticed";
    active_mutant = {};
}

TEST(LogMutants, are_not_seen_where_there_are_none) {
    EXPECT_FALSE(hunt(""));
}

}  // namespace
}  // namespace holdfast::consensus
