#include "client/sessions/owned_table.h"

#include <gtest/gtest.h>
#include <thread>

namespace holdfast::client::sessions {
namespace {

constexpr HolderInstant now{1000s};
HolderInstant clock_now() {
    return now;
}

TEST(OwnedUntil, never_comes_back_within_a_turn_once_it_was_seen_to_have_ended) {
    OwnedUntil until{"s"};
    until.hold_until(now + 1s, now);
    const auto turn = until.turn();
    EXPECT_TRUE(until.held_by(clock_now, turn));
    EXPECT_FALSE(until.held_by([] { return now + 1s; }));
    until.hold_until(now + 5s, now + 1s);
    EXPECT_TRUE(until.held_by([] { return now + 2s; }));
    EXPECT_FALSE(until.held_by([] { return now + 2s; }, turn)) << "this is another turn";
}

TEST(OwnedUntil, goes_on_with_the_turn_when_renewed_in_time) {
    OwnedUntil until{"s"};
    until.hold_until(now + 1s, now);
    const auto turn = until.turn();
    until.hold_until(now + 5s, now);
    EXPECT_TRUE(until.held_by([] { return now + 2s; }, turn));
}

TEST(OwnedTable, finds_what_was_added_and_not_what_was_removed) {
    OwnedTable table;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 500; ++i)
            table.add(std::to_string(i))->hold_until(now + 1s, now);
        for (int i = 0; i < 500; ++i)
            ASSERT_TRUE(table.held_by(std::to_string(i), clock_now));
        ASSERT_FALSE(table.held_by("500", clock_now));
        for (int i = 0; i < 500; ++i) {
            table.remove(std::to_string(i));
            ASSERT_FALSE(table.held_by(std::to_string(i), clock_now));
        }
    }
}

TEST(OwnedTable, is_read_while_it_changes) {
    OwnedTable table;
    table.add("always")->hold_until(now + 1s, now);
    std::atomic<bool> over = false;
    std::atomic<int> looks = 0;
    std::atomic<int> wrong = 0;
    const auto look = [&] {
        while (!over) {
            wrong += table.held_by("always", clock_now) ? 0 : 1;
            wrong += table.held_by("never", clock_now) ? 1 : 0;
            (void)table.held_by("7", clock_now);
            ++looks;
        }
    };
    std::thread one{look};
    std::thread two{look};
    for (int round = 0; round < 200 || looks < 1000; ++round) {
        for (int i = 0; i < 50; ++i)
            table.add(std::to_string(i))->hold_until(now + 1s, now);
        for (int i = 0; i < 50; ++i)
            table.remove(std::to_string(i));
    }
    over = true;
    one.join();
    two.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace holdfast::client::sessions
