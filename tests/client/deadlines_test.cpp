#include "client/deadlines.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace holdfast::client {
namespace {

lease::Timeline timeline_for(Duration ttl) {
    return {ttl / 3, ttl * 2 / 3, ttl * 5 / 6, ttl};
}

constexpr HolderInstant start{100s};

TEST(Deadlines, count_from_the_moment_of_sending) {
    const auto deadlines = deadlines_of({start, timeline_for(60s), 60s});
    EXPECT_EQ(deadlines.renew, start + 20s);
    EXPECT_EQ(deadlines.soft, start + 40s);
    EXPECT_EQ(deadlines.hard, start + 50s);
    EXPECT_EQ(deadlines.end, start + 60s - 600ms);
}

TEST(Deadlines, keep_a_margin_of_one_percent_but_never_less_than_fifty_milliseconds) {
    EXPECT_EQ(lease::skew_margin(60s), 600ms);
    EXPECT_EQ(lease::skew_margin(5s), 50ms);
    EXPECT_EQ(lease::skew_margin(1s), 50ms);
}

TEST(Deadlines, of_an_answer_with_less_time_left_than_the_margin_are_over_before_they_begin) {
    const auto deadlines = deadlines_of({start, {0s, 0s, 0s, 30ms}, 60s});
    EXPECT_LE(deadlines.end, start);
}

TEST(Deadlines, of_two_grants_are_the_earlier_of_each) {
    const auto one = deadlines_of({start, timeline_for(60s), 60s});
    const auto other = deadlines_of({start + 1s, timeline_for(9s), 9s});
    EXPECT_EQ(earlier_of(one, other), other);
    EXPECT_EQ(earlier_of(other, one), other);
}

RC_GTEST_PROP(Deadlines, come_in_order_whatever_the_ttl, ()) {
    const Duration ttl = std::chrono::milliseconds(*rc::gen::inRange(52, 86'400'000));
    const auto deadlines = deadlines_of({start, timeline_for(ttl), ttl});
    RC_ASSERT(start < deadlines.renew);
    RC_ASSERT(deadlines.renew < deadlines.soft);
    RC_ASSERT(deadlines.soft < deadlines.hard);
    RC_ASSERT(deadlines.hard < deadlines.end);
    RC_ASSERT(deadlines.end == start + ttl - lease::skew_margin(ttl));
}

}  // namespace
}  // namespace holdfast::client
