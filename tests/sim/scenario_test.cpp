#include "sim/scenario.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace holdfast::sim {
namespace {

TEST(Scenario, follows_from_its_seed) {
    EXPECT_EQ(describe(scenario_of(5)), describe(scenario_of(5)));
    EXPECT_NE(describe(scenario_of(5)), describe(scenario_of(9)));
}

TEST(Scenario, of_many_seeds_has_every_kind_of_fault_in_order_and_in_time) {
    std::set<FaultKind> kinds;
    std::set<unsigned> sizes;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const Scenario scenario = scenario_of(seed);
        sizes.insert(scenario.nodes);
        EXPECT_TRUE(std::is_sorted(scenario.faults.begin(), scenario.faults.end(),
                                   [](const Fault& a, const Fault& b) { return a.at < b.at; }));
        for (const Fault& fault : scenario.faults) {
            kinds.insert(fault.kind);
            EXPECT_LE(fault.at + fault.lasts, scenario.turbulent);
            EXPECT_LT(fault.node, scenario.nodes);
            if (fault.kind == FaultKind::cut) {
                EXPECT_NE(fault.node, fault.other);
            }
            if (fault.kind == FaultKind::split) {
                EXPECT_GT(fault.other, 0U);
                EXPECT_LT(fault.other, (1U << scenario.nodes) - 1);
            }
        }
    }
    EXPECT_EQ(kinds.size(), static_cast<std::size_t>(FaultKind::put_back) + 1);
    EXPECT_EQ(sizes, (std::set<unsigned>{3, 5}));
}

}  // namespace
}  // namespace holdfast::sim
