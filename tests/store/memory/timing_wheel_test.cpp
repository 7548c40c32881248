#include "store/memory/timing_wheel.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "base/random.h"

namespace holdfast::store::memory {
namespace {

/// A wheel with entries whose true ends are known beside it.
struct Clockwork {
    Slots slots;
    TimerLists timers{slots, TimingWheel::lists};
    TimingWheel wheel{timers, Instant{}};
    std::map<SlotId, Instant> due;
    std::vector<SlotId> fired;

    SlotId add(Instant at) {
        const SlotId id = slots.allocate();
        due[id] = at;
        wheel.file(id, at);
        return id;
    }

    bool advance(Instant now, std::size_t steps = 1'000'000) {
        return wheel.advance(now, steps, [&](SlotId id) {
            if (due.at(id) > now) {
                wheel.file(id, due.at(id));
                return;
            }
            due.erase(id);
            fired.push_back(id);
        });
    }
};

TEST(TimingWheel, fires_nothing_early_and_everything_by_the_next_tick) {
    for (const Duration end :
         {Duration{1ns}, Duration{1ms}, Duration{1ms + 1ns}, Duration{255ms}, Duration{256ms}, Duration{257ms},
          Duration{65'535ms}, Duration{65'536ms}, Duration{1h}, Duration{24h * 60}}) {
        Clockwork clockwork;
        clockwork.add(Instant{end});
        clockwork.advance(Instant{end - 1ns});
        EXPECT_TRUE(clockwork.fired.empty()) << end.count();
        clockwork.advance(Instant{std::chrono::ceil<std::chrono::milliseconds>(end)});
        EXPECT_EQ(clockwork.fired.size(), 1U) << end.count();
    }
}

TEST(TimingWheel, agrees_with_a_sorted_list_over_random_histories) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random{seed};
        Clockwork clockwork;
        Instant now{Duration{static_cast<std::int64_t>(random.below(1ULL << 45))}};
        clockwork.advance(now);
        for (int step = 0; step < 300; ++step) {
            const auto bits = random.below(44);
            const Duration ahead{static_cast<std::int64_t>(random.below(1ULL << bits))};
            switch (random.below(4)) {
                case 0:
                    clockwork.add(now + ahead);
                    break;
                case 1:
                    if (clockwork.due.empty()) break;
                    clockwork.timers.remove(clockwork.due.begin()->first);
                    clockwork.due.erase(clockwork.due.begin());
                    break;
                case 2:  // a renewal: the end moves, the wheel is not told
                    if (!clockwork.due.empty()) clockwork.due.begin()->second += ahead;
                    break;
                default:
                    now += ahead;
                    ASSERT_FALSE(clockwork.advance(now));
                    for (const auto& [id, at] : clockwork.due)
                        ASSERT_GT(at, std::chrono::floor<std::chrono::milliseconds>(now)) << "seed " << seed;
            }
            if (!clockwork.due.empty()) {
                Instant first = Instant::max();
                for (const auto& [id, at] : clockwork.due)
                    first = std::min(first, at);
                ASSERT_LE(clockwork.wheel.next_due(), std::chrono::ceil<std::chrono::milliseconds>(first))
                    << "seed " << seed;
            }
        }
    }
}

TEST(TimingWheel, does_no_more_work_at_once_than_it_is_allowed) {
    Clockwork clockwork;
    for (int i = 0; i < 1000; ++i)
        clockwork.add(Instant{500ms});
    std::size_t calls = 1;
    while (clockwork.advance(Instant{500ms}, 10)) {
        EXPECT_LE(clockwork.fired.size(), 10 * calls);
        ++calls;
    }
    EXPECT_EQ(clockwork.fired.size(), 1000U);
    EXPECT_GE(calls, 100U);
}

TEST(TimingWheel, takes_new_entries_while_it_lags_behind) {
    Clockwork clockwork;
    for (int i = 0; i < 100; ++i)
        clockwork.add(Instant{10ms});
    EXPECT_TRUE(clockwork.advance(Instant{1s}, 50));
    clockwork.add(Instant{1001ms});
    while (clockwork.advance(Instant{1001ms}, 7)) {
    }
    EXPECT_EQ(clockwork.fired.size(), 101U);
}

}  // namespace
}  // namespace holdfast::store::memory
