#include <gtest/gtest.h>

#include "keys/controller/history_world.h"
#include "support/seeds.h"

namespace holdfast::keys::controller {
namespace {

TEST(ControllerHistory, never_has_two_backends_run_under_one_key) {
    HistoryWorld::Seen all;
    for (std::uint64_t seed = first_seed(), end = seed + 60; seed < end; ++seed) {
        HistoryWorld world(seed);
        world.run_for(20min);
        world.calm_down();
        ASSERT_EQ(world.violation(), "") << "seed " << seed;
        const auto& seen = world.seen();
        all.starts += seen.starts;
        all.found += seen.found;
        all.renewals += seen.renewals;
        all.ends_by_deadline += seen.ends_by_deadline;
        all.restarts += seen.restarts;
        all.controller_restarts += seen.controller_restarts;
        all.lost += seen.lost;
        all.doubled += seen.doubled;
        all.dropped += seen.dropped;
        all.terminated += seen.terminated;
        all.refused += seen.refused;
    }
    EXPECT_GT(all.starts, 1000) << "too little happened to prove anything";
    EXPECT_GT(all.found, 1000);
    EXPECT_GT(all.renewals, 1000);
    EXPECT_GT(all.ends_by_deadline, 100);
    EXPECT_GT(all.restarts, 100);
    EXPECT_GT(all.controller_restarts, 100);
    EXPECT_GT(all.lost, 1000);
    EXPECT_GT(all.doubled, 1000);
    EXPECT_GT(all.terminated, 100);
    EXPECT_GT(all.refused, 100) << "words of the drone whose id another one has";
    EXPECT_GT(all.dropped, 0) << "orders that came too late";
}

}  // namespace
}  // namespace holdfast::keys::controller
