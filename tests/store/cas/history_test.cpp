#include "store/cas/history.h"

#include <gtest/gtest.h>

#include "support/seeds.h"

namespace holdfast::store::cas {
namespace {

/// Runs many, and wants enough to have happened.
HistoryReport run_many(HistoryShape shape, std::uint64_t seeds, std::size_t grants_at_least) {
    HistoryReport sum;
    const std::uint64_t end = first_seed() + seeds;
    for (shape.seed = first_seed(); shape.seed < end; ++shape.seed) {
        const HistoryReport report = run_history(shape);
        if (report.violation) ADD_FAILURE() << *report.violation << ", seed " << shape.seed;
        if (report.violation) return sum;
        sum.grants += report.grants;
        sum.renewals += report.renewals;
        sum.releases += report.releases;
        sum.unknown += report.unknown;
        sum.crashes += report.crashes;
        sum.steps_noticed += report.steps_noticed;
        sum.served += report.served;
    }
    EXPECT_GT(sum.grants, grants_at_least);
    EXPECT_GT(sum.renewals, grants_at_least / 10);
    EXPECT_GT(sum.releases, grants_at_least / 10);
    EXPECT_GT(sum.served, grants_at_least / 20);
    std::cerr << sum.grants << " grants, " << sum.renewals << " renewals, " << sum.releases << " releases, "
              << sum.unknown << " unknown, " << sum.served << " served, " << sum.crashes << " crashes, "
              << sum.steps_noticed << " steps noticed\n";
    return sum;
}

TEST(EngineHistory, never_lets_two_fronts_grant_what_excludes_each_other) {
    run_many({.fronts = 2}, 80, 800);
}

TEST(EngineHistory, nor_three) {
    run_many({.fronts = 3}, 40, 400);
}

TEST(EngineHistory, nor_in_files_and_trees_that_overlap) {
    run_many({.fronts = 2, .paths = true}, 40, 200);
}

TEST(EngineHistory, nor_when_the_engines_clock_jumps) {
    const HistoryReport sum = run_many({.fronts = 2, .clock_steps = true}, 40, 300);
    EXPECT_GT(sum.steps_noticed, 20U);
}

}  // namespace
}  // namespace holdfast::store::cas
