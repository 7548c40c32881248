#include "sim/event_queue.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

TEST(EventQueue, lets_things_happen_by_time_and_then_in_the_order_they_were_planned) {
    EventQueue events;
    std::string order;
    events.at(TrueInstant{2s}, [&] { order += 'c'; });
    events.at(TrueInstant{1s}, [&] { order += 'a'; });
    events.at(TrueInstant{1s}, [&] {
        order += 'b';
        events.after(0s, [&] { order += '!'; });
    });
    events.at(TrueInstant{2s}, [&] { order += 'd'; });
    while (events.run_next(TrueInstant{1h})) {
    }
    EXPECT_EQ(order, "ab!cd");
    EXPECT_EQ(events.happened(), 5U);
}

TEST(EventQueue, stops_before_the_end_it_is_given) {
    EventQueue events;
    int happened = 0;
    events.at(TrueInstant{1s}, [&] { ++happened; });
    EXPECT_FALSE(events.run_next(TrueInstant{1s}));
    EXPECT_EQ(events.now(), TrueInstant{1s});
    EXPECT_TRUE(events.run_next(TrueInstant{1s + 1ns}));
    EXPECT_EQ(happened, 1);
}

}  // namespace
}  // namespace holdfast::sim
