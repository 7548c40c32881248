#include "store/quorum/history.h"

#include <gtest/gtest.h>

#include "support/seeds.h"

namespace holdfast::store::quorum {
namespace {

/// Runs many, and wants enough to have happened.
void run_many(HistoryShape shape, std::uint64_t seeds, std::size_t grants_at_least) {
    HistoryReport sum;
    const std::uint64_t end = first_seed() + seeds;
    for (shape.seed = first_seed(); shape.seed < end; ++shape.seed) {
        const HistoryReport report = run_history(shape);
        ASSERT_EQ(report.violation, std::nullopt) << "seed " << shape.seed;
        sum.grants += report.grants;
        sum.renewals += report.renewals;
        sum.releases += report.releases;
        sum.crashes += report.crashes;
    }
    EXPECT_GT(sum.grants, grants_at_least);
    EXPECT_GT(sum.renewals, grants_at_least / 10);
    EXPECT_GT(sum.releases, grants_at_least / 10);
    std::cerr << sum.grants << " grants, " << sum.renewals << " renewals, " << sum.releases << " releases, "
              << sum.crashes << " crashes\n";
}

TEST(QuorumHistory, never_lets_two_of_three_nodes_grant_what_excludes_each_other) {
    run_many({.members = 3}, 300, 1000);
}

TEST(QuorumHistory, nor_of_five) {
    run_many({.members = 5}, 150, 500);
}

TEST(QuorumHistory, nor_in_files_and_trees_that_overlap) {
    run_many({.members = 3, .paths = true}, 200, 500);
}

}  // namespace
}  // namespace holdfast::store::quorum
