#include "base/clock.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(ShownWallTime, of_one_instant_is_the_same_in_every_answer) {
    const Instant then = store_clock_now();
    const std::int64_t shown = shown_wall_ms(then);
    for (int i = 0; i < 20'000; ++i)
        ASSERT_EQ(shown_wall_ms(then), shown);
}

TEST(ShownWallTime, is_about_what_the_wall_clock_says) {
    EXPECT_LT(std::abs(shown_wall_ms(store_clock_now()) - wall_clock_ms()), 60'000);
}

}  // namespace
}  // namespace holdfast
