#include "base/backoff.h"

#include <gtest/gtest.h>

namespace holdfast::inline base {
namespace {

TEST(Backoff, doubles_from_the_first_pause_to_the_longest) {
    Backoff backoff{{.first = 10ms, .max = 35ms}};
    EXPECT_EQ(backoff.next(), 10ms);
    EXPECT_EQ(backoff.next(), 20ms);
    EXPECT_EQ(backoff.next(), 35ms);
    EXPECT_EQ(backoff.next(), 35ms);
}

TEST(Backoff, begins_again_after_a_success) {
    Backoff backoff{{.first = 10ms, .max = 1s}};
    backoff.next();
    backoff.next();
    backoff.reset();
    EXPECT_EQ(backoff.next(), 10ms);
}

TEST(Backoff, counts_the_failures_since_the_last_success) {
    Backoff backoff{{.first = 10ms, .max = 20ms}};
    for (int i = 0; i < 3; ++i)
        backoff.next();
    EXPECT_EQ(backoff.failures(), 3U);
    backoff.reset();
    EXPECT_EQ(backoff.failures(), 0U);
}

TEST(Backoff, does_not_overflow) {
    Backoff backoff{{.first = 1ns, .max = Duration::max()}};
    Duration last{};
    for (int i = 0; i < 100; ++i) {
        const Duration pause = backoff.next();
        ASSERT_GE(pause, last);
        last = pause;
    }
    EXPECT_EQ(last, Duration::max());
}

TEST(Backoff, draws_the_pause_from_its_upper_half) {
    Random random{7};
    Duration shortest = Duration::max(), longest{};
    for (int i = 0; i < 1000; ++i) {
        Backoff backoff{{.first = 100ms, .max = 1s}};
        const Duration pause = backoff.next(random);
        shortest = std::min(shortest, pause);
        longest = std::max(longest, pause);
    }
    EXPECT_GE(shortest, 50ms);
    EXPECT_LE(longest, 100ms);
    EXPECT_LT(shortest, 55ms);
    EXPECT_GT(longest, 95ms);
}

}  // namespace
}  // namespace holdfast::inline base
