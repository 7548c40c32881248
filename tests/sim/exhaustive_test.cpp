#include "sim/exhaustive.h"

#include <gtest/gtest.h>

#include "sim/session.h"

namespace holdfast::sim {
namespace {

SearchBounds bounds(unsigned losses, unsigned crashes, std::uint64_t max_states) {
    SearchBounds made;
    made.losses = losses;
    made.crashes = crashes;
    made.early_timers = 0;
    made.max_states = max_states;
    return made;
}

TEST(Search, stops_at_its_bound_and_says_so) {
    const Searched found = search(bounds(1, 1, 500));
    EXPECT_FALSE(found.complete);
    EXPECT_GE(found.states, 500U);
    EXPECT_FALSE(found.violation);
}

TEST(Search, comes_to_ends_where_one_was_granted_and_never_both) {
    TextReport report(true);
    const Searched found = search(bounds(0, 0, 20'000));
    report.searched("no trouble", found, {});
    EXPECT_FALSE(found.violation) << found.violation->what;
    EXPECT_GT(found.executions, 100U);
    EXPECT_GT(found.granted_one, 0U);
}

}  // namespace
}  // namespace holdfast::sim
