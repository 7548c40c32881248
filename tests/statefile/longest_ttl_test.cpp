#include "statefile/longest_ttl.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

constexpr Instant start{1000s};

TEST(LongestTtl, comes_down_only_when_every_lease_of_the_old_length_has_ended) {
    LongestTtl longest(300s, 300s);
    longest.advance(start);
    EXPECT_EQ(longest.due(), Instant::max());

    longest.policy_took_effect(10s);
    longest.advance(start + 50s);
    EXPECT_EQ(longest.due(), start + 350s);
    EXPECT_EQ(longest.may_lower_to(start + 350s - 1ns), std::nullopt);
    EXPECT_EQ(longest.may_lower_to(start + 350s), 10s);

    longest.lowered(10s);
    EXPECT_EQ(longest.due(), Instant::max());
}

TEST(LongestTtl, counts_again_from_every_change) {
    LongestTtl longest(300s, 300s);
    longest.policy_took_effect(10s);
    longest.advance(start);
    longest.policy_took_effect(20s);
    longest.advance(start + 299s);
    EXPECT_EQ(longest.may_lower_to(start + 598s), std::nullopt);
    EXPECT_EQ(longest.may_lower_to(start + 599s), 20s);
}

TEST(LongestTtl, is_not_delayed_by_a_policy_that_leaves_the_maximum_alone) {
    LongestTtl longest(300s, 10s);
    longest.advance(start);
    longest.policy_took_effect(10s);
    longest.advance(start + 100s);
    EXPECT_EQ(longest.due(), start + 300s);
}

TEST(LongestTtl, goes_up_with_the_policy_at_once) {
    LongestTtl longest(10s, 10s);
    longest.advance(start);
    longest.policy_took_effect(300s);
    longest.advance(start);
    longest.policy_took_effect(10s);
    longest.advance(start + 1s);
    EXPECT_EQ(longest.due(), start + 301s) << "a lease of 300 s may have been granted in between";
}

TEST(LongestTtl, comes_down_one_bound_after_a_start_that_recovered) {
    LongestTtl longest(300s, 2s);
    longest.advance(start);
    EXPECT_EQ(longest.due(), start + 300s);
}

}  // namespace
}  // namespace holdfast
