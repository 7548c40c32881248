// Each mutant switches one rule off (tests/mutants). The world of agents must notice every one of them, and must notice
// nothing when none is active: otherwise it proves nothing.

#include <gtest/gtest.h>

#include "mutants/mutant.h"
#include "scenarios/agents_world.h"

namespace holdfast::authority {
namespace {

struct Mutant {
    const char* name;
    const char* rule;
};
constexpr Mutant mutants[] = {
    {"no_wait_die", "G5: a younger agent must not wait for an older one"},
    {"older_waiters_ignored", "G5: an agent that holds something must not wait behind an older one"},
    {"judged_once", "G5: who waits is judged again when an older one comes before it"},
    {"overtaking", "G6: nobody overtakes one that waits"},
    {"trees_ignored", "a tree conflicts with what lies in it"},
    {"no_grace", "R5: what an agent said it will resume is kept for it"},
    {"early_expiry", "T2: a lease never ends early"},
    {"predicates_ignored", "G2: conflicting predicates"},
};

enum class Caught : std::uint8_t { no, violation, stuck, starved };

Caught run(std::uint64_t seed) {
    AgentsWorld::Options options;
    options.agents = 60;
    options.folders = 3;
    options.files_per_folder = 8;
    options.seed = seed;
    options.wait = 1h;
    AgentsWorld world(options);
    world.run_for(30min);
    if (world.violation()) return Caught::violation;
    if (world.stuck()) return Caught::stuck;
    return world.longest_as_oldest() > 5min ? Caught::starved : Caught::no;
}

constexpr std::uint64_t seeds = 20;

TEST(Mutants, are_all_caught) {
    for (const Mutant& mutant : mutants) {
        active_mutant = mutant.name;
        Caught caught = Caught::no;
        std::uint64_t seed = 0;
        while (caught == Caught::no && seed < seeds)
            caught = run(++seed);
        std::printf("%-22s %s by seed %lu\n", mutant.name,
                    caught == Caught::violation ? "breaks a rule"
                    : caught == Caught::stuck   ? "gets stuck"
                    : caught == Caught::starved ? "starves the oldest"
                                                : "IS NOT CAUGHT",
                    static_cast<unsigned long>(seed));
        EXPECT_NE(caught, Caught::no) << mutant.name << ": nobody noticed that this was switched off: " << mutant.rule;
    }
    active_mutant = {};
}

TEST(Mutants, are_not_seen_where_there_are_none) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        EXPECT_EQ(run(seed), Caught::no) << "seed " << seed;
}

}  // namespace
}  // namespace holdfast::authority
