// Each mutant switches one rule off (tests/mutants). The simulator must notice every one of them within these seeds, or
// say why no world shows it, and must notice nothing when none is active: otherwise it proves nothing.

#include "sim/mutants.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <map>

#include "sim/exhaustive.h"
#include "sim/hunt.h"

namespace holdfast::sim {
namespace {

constexpr std::uint64_t seeds = 400;           ///< at most; of a mutant that some world must show
constexpr std::uint64_t seeds_of_unseen = 20;  ///< of a mutant that no world is expected to show
constexpr std::uint64_t seeds_of_none = 60;    ///< without a mutant; ManyWorlds tries more, of the code that ships

/// The world that showed a mutant when this was written, for those that take long to find. It is tried first; if the
/// code has changed so that it shows nothing any more, the search begins at seed 1.
std::uint64_t first_to_try(std::string_view mutant) {
    static const std::map<std::string_view, std::uint64_t> known{{"half_silence", 151},
                                                                 {"unchosen_read", 44},
                                                                 {"acknowledged_before_durable", 41},
                                                                 {"overlap_not_looked_at_after", 18}};
    const auto found = known.find(mutant);
    return found == known.end() ? 1 : found->second;
}

struct Caught {
    std::string rule;
    std::uint64_t seed = 0;
};

std::optional<Caught> hunt_world(std::uint64_t seed) {
    const Outcome outcome = World(scenario_of(seed)).run();
    if (!outcome.violation) return std::nullopt;
    return Caught{outcome.violation->rule, seed};
}

std::optional<Caught> hunt_mutant(const MutantInfo& mutant) {
    const std::uint64_t last = mutant.not_seen_because.empty() ? seeds : seeds_of_unseen;
    set_mutant(mutant.name);
    std::optional<Caught> caught = hunt_world(first_to_try(mutant.name));
    for (std::uint64_t seed = 1; seed <= last && !caught; ++seed)
        caught = hunt_world(seed);
    set_mutant({});
    return caught;
}

TEST(SimMutants, are_all_caught_or_unseen_for_a_reason) {
    for (const MutantInfo& mutant : mutants()) {
        const auto caught = hunt_mutant(mutant);
        const std::string how = caught ? "breaks " + caught->rule + " by seed " + std::to_string(caught->seed)
                                : mutant.not_seen_because.empty() ? "IS NOT CAUGHT"
                                                                  : "is not seen";
        std::printf("%-28s %s\n", std::string(mutant.name).c_str(), how.c_str());
        std::fflush(stdout);
        if (mutant.not_seen_because.empty())
            EXPECT_TRUE(caught) << mutant.name << ": nobody noticed that this was switched off: " << mutant.rule;
        else
            EXPECT_FALSE(caught) << mutant.name << " was said not to be seen: " << mutant.not_seen_because;
    }
}

TEST(SimMutants, are_not_seen_where_there_are_none) {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= seeds_of_none; ++seed) {
        const auto failure = hunt(scenario_of(seed), tally);
        ASSERT_FALSE(failure) << failure->text();
    }
}

TEST(SimMutants, shrink_to_a_smaller_world_that_breaks_the_same_rule) {
    set_mutant("no_silence");
    std::optional<Failure> failure;
    Tally tally;
    for (std::uint64_t seed = 1; seed <= seeds && !failure; ++seed)
        failure = hunt(scenario_of(seed), tally);
    ASSERT_TRUE(failure);
    const Failure smaller = shrink(*failure, {.max_worlds = 150}, [](const Scenario&) {});
    set_mutant({});
    EXPECT_EQ(smaller.violation.rule, failure->violation.rule);
    EXPECT_LT(smaller.scenario.faults.size(), failure->scenario.faults.size());
    EXPECT_LT(smaller.scenario.faults.size(), 6U) << smaller.text();
    EXPECT_FALSE(smaller.trace.empty());
}

TEST(SimMutants, are_caught_by_trying_every_order_as_well) {
    for (const char* name : {"lower_ballot_accepted", "no_silence"}) {
        set_mutant(name);
        SearchBounds bounds;
        bounds.early_timers = 0;
        bounds.max_states = 300'000;
        const Searched found = search(bounds);
        set_mutant({});
        EXPECT_TRUE(found.violation) << name;
    }
}

}  // namespace
}  // namespace holdfast::sim
