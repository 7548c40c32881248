#include "client/held_until.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace holdfast::client {
namespace {

constexpr HolderInstant end{100s};

TEST(HeldUntil, is_held_before_its_end_and_not_from_it_on) {
    HeldUntil until(end);
    EXPECT_TRUE(until.held(end - 1ns));
    EXPECT_FALSE(until.held(end));
}

TEST(HeldUntil, moves_while_it_is_held) {
    HeldUntil until(end);
    EXPECT_TRUE(until.move(end + 10s, end - 1s));
    EXPECT_TRUE(until.held(end + 5s));
}

TEST(HeldUntil, never_turns_true_again_once_seen_to_have_passed) {
    HeldUntil until(end);
    ASSERT_FALSE(until.held(end + 1ns));
    EXPECT_FALSE(until.move(end + 10s, end - 1s));
    EXPECT_FALSE(until.held(end - 1s));
}

TEST(HeldUntil, is_not_moved_past_its_end_even_if_nobody_looked) {
    HeldUntil until(end);
    EXPECT_FALSE(until.move(end + 10s, end));
    EXPECT_FALSE(until.held(end));
}

TEST(HeldUntil, is_over_once_finished) {
    HeldUntil until(end);
    until.finish();
    EXPECT_FALSE(until.held(end - 1s));
    EXPECT_FALSE(until.move(end + 1s, end - 1s));
}

/// Readers whose time runs ahead of the writer's: whatever one has seen end, nobody may see again.
TEST(HeldUntil, ends_for_all_threads_when_it_ends_for_one) {
    for (int round = 0; round < 500; ++round) {
        HeldUntil until(end);
        std::atomic<bool> seen_over = false;
        std::atomic<int> violations = 0;
        const auto read = [&](Duration step) {
            for (HolderInstant now = end - 50 * step; now < end + 50 * step; now += step) {
                const bool over_before = seen_over.load();
                const bool held = until.held(now);
                if (held && over_before) ++violations;
                if (!held) seen_over = true;
            }
        };
        std::vector<std::thread> threads;
        threads.emplace_back(read, 1ms);
        threads.emplace_back(read, 2ms);
        threads.emplace_back([&] {
            HolderInstant now = end - 20ms;
            for (int i = 0; i < 60 && until.move(now + 30ms, now); ++i)
                now += 1ms;
        });
        for (auto& thread : threads)
            thread.join();
        ASSERT_EQ(violations, 0);
    }
}

}  // namespace
}  // namespace holdfast::client
