#include "discovery/relay/token_bucket.h"

#include <gtest/gtest.h>

namespace holdfast::discovery::relay {
namespace {

const TokenBucket::Time start{1000s};

TEST(TokenBucket, without_a_rate_has_no_limit) {
    TokenBucket bucket(0);
    bucket.refill(start);
    EXPECT_FALSE(bucket.is_limited());
    EXPECT_EQ(bucket.until_worthwhile(), Duration::zero());
}

TEST(TokenBucket, fills_at_its_rate_and_saves_a_tenth_of_a_second) {
    TokenBucket bucket(1'000'000);
    bucket.refill(start);
    EXPECT_EQ(bucket.level(), 100'000u);
    bucket.take(100'000);
    EXPECT_EQ(bucket.level(), 0u);
    bucket.refill(start + 10ms);
    EXPECT_NEAR(static_cast<double>(bucket.level()), 10'000, 1);
    bucket.refill(start + 1h);
    EXPECT_EQ(bucket.level(), 100'000u);
}

TEST(TokenBucket, pays_back_a_debt_before_it_gives) {
    TokenBucket bucket(1000);
    bucket.refill(start);
    bucket.take(1100);
    EXPECT_EQ(bucket.level(), 0u);
    EXPECT_NEAR(static_cast<double>(to_ms(bucket.until_worthwhile())), 1050, 2);
    bucket.refill(start + 1s);
    EXPECT_EQ(bucket.level(), 0u);
    bucket.refill(start + 1051ms);
    EXPECT_GE(bucket.level(), 50u);
}

TEST(TokenBucket, is_worthwhile_again_after_the_time_it_says) {
    for (const std::uint64_t rate : {1ull, 7ull, 5'000ull, 123'456'789ull}) {
        TokenBucket bucket(rate);
        bucket.refill(start);
        bucket.take(bucket.level());
        const Duration wait = bucket.until_worthwhile();
        ASSERT_GT(wait, Duration::zero()) << rate;
        bucket.refill(start + wait);
        EXPECT_EQ(bucket.until_worthwhile(), Duration::zero()) << rate;
    }
}

TEST(TokenBucket, takes_no_notice_of_a_clock_that_goes_back) {
    TokenBucket bucket(1000);
    bucket.refill(start);
    bucket.take(100);
    bucket.refill(start - 5s);
    EXPECT_EQ(bucket.level(), 0u);
}

}  // namespace
}  // namespace holdfast::discovery::relay
