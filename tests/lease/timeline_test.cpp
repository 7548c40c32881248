#include "lease/timeline.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

Lease lease_of(Duration ttl) {
    Lease lease;
    lease.ttl = ttl;
    lease.expires_at = Instant{100s} + ttl;
    return lease;
}

TEST(Timeline, of_a_minute_is_20_40_50_60) {  // T4
    EXPECT_EQ(timeline_of(lease_of(60s), Instant{100s}), (Timeline{20s, 40s, 50s, 60s}));
}

TEST(Timeline, is_in_order_for_every_ttl) {
    for (Duration ttl = 1ms; ttl <= 24h; ttl = ttl * 3 / 2 + 1us) {
        const Timeline timeline = timeline_of(lease_of(ttl), Instant{100s});
        EXPECT_LT(timeline.renew_in, timeline.soft_terminate_in);
        EXPECT_LT(timeline.soft_terminate_in, timeline.hard_terminate_in);
        EXPECT_LT(timeline.hard_terminate_in, timeline.expires_in);
        EXPECT_EQ(timeline.expires_in, ttl);
    }
}

TEST(Timeline, told_later_has_less_left_and_never_less_than_nothing) {
    EXPECT_EQ(timeline_of(lease_of(60s), Instant{130s}), (Timeline{0s, 10s, 20s, 30s}));
    EXPECT_EQ(timeline_of(lease_of(60s), Instant{200s}), (Timeline{0s, 0s, 0s, 0s}));
}

}  // namespace
}  // namespace holdfast::lease
