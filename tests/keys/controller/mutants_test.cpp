// Each mutant switches one rule off (tests/mutants). The world of drones must notice every one of them; that it notices
// nothing when none is active is history_test.cpp.

#include <gtest/gtest.h>

#include "keys/controller/history_world.h"
#include "mutants/mutant.h"

namespace holdfast::keys::controller {
namespace {

struct Mutant {
    const char* name;
    const char* rule;
};
constexpr Mutant mutants[] = {
    {"anyone_frees", "K6: no generic request frees a key"},
    {"any_life_follows", "K4: only a life that knows the one before it to be dead takes its place"},
    {"late_word_ends", "a report that was overtaken by another does not end what it does not name"},
    {"silence_is_death", "K4: the key of a drone that is silent runs out, and is not given back"},
    {"sent_order_taken_back", "K2: a key is given back only if no drone has heard of it"},
    {"nothing_to_spare", "T4: the hard deadline lies before the end, for clocks that run apart"},
    {"states_move_back", "K5: states only move forward"},
};

std::string run(std::uint64_t seed) {
    HistoryWorld world(seed);
    world.run_for(20min);
    if (world.violation().empty()) world.calm_down();
    return world.violation();
}

TEST(KeyMutants, are_all_caught) {
    constexpr std::uint64_t seeds = 60;
    for (const Mutant& mutant : mutants) {
        active_mutant = mutant.name;
        std::string caught;
        std::uint64_t seed = 0;
        while (caught.empty() && seed < seeds)
            caught = run(++seed);
        std::printf("%-22s seed %lu: %s\n", mutant.name, static_cast<unsigned long>(seed),
                    caught.empty() ? "IS NOT CAUGHT" : caught.c_str());
        EXPECT_FALSE(caught.empty()) << mutant.name << ": nobody noticed that this was switched off: " << mutant.rule;
    }
    active_mutant = {};
}

}  // namespace
}  // namespace holdfast::keys::controller
