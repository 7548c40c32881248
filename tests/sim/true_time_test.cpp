#include "sim/true_time.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

TEST(SimClock, shows_what_it_was_set_to_and_runs_at_its_rate) {
    const SimClock fast{{10h, 10'000}};
    EXPECT_EQ(fast.reading(TrueInstant{}), 10h);
    EXPECT_EQ(fast.reading(TrueInstant{100s}), 10h + 101s);
    const SimClock slow{{1h, -50'000}};
    EXPECT_EQ(slow.reading(TrueInstant{100s}), 1h + 95s);
}

TEST(SimClock, knows_the_first_instant_at_which_it_shows_something) {
    for (const std::int64_t ppm : {-50'000, -10'000, -1, 0, 1, 10'000, 50'000}) {
        const SimClock clock{{5h, ppm}};
        for (const Duration later : {Duration{1ns}, Duration{999ns}, Duration{1234567ns}, Duration{1h + 7ns}}) {
            const TrueInstant at = clock.when(5h + later);
            EXPECT_GE(clock.reading(at), 5h + later) << ppm;
            EXPECT_LT(clock.reading(at - 1ns), 5h + later) << ppm;
        }
    }
}

TEST(SimClock, never_goes_back) {
    const SimClock clock{{1h, -49'999}};
    for (Duration at{}; at < 100us; at += 1ns)
        ASSERT_LE(clock.reading(TrueInstant{at}), clock.reading(TrueInstant{at + 1ns}));
}

TEST(SimClock, puts_what_is_beyond_every_world_in_the_far_future) {
    EXPECT_EQ(SimClock({1h, 0}).when(Duration::max()), TrueInstant::max());
    EXPECT_EQ(SimClock({1h, 0}).when(Duration::zero()), TrueInstant{});
}

}  // namespace
}  // namespace holdfast::sim
