#include "base/wakeup.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <thread>

namespace holdfast::inline base {
namespace {

bool is_readable(const Wakeup& wakeup, int timeout_ms = 0) {
    pollfd waiting{wakeup.fd(), POLLIN, 0};
    return ::poll(&waiting, 1, timeout_ms) == 1;
}

TEST(Wakeup, is_readable_from_a_notification_until_it_is_drained) {
    const Wakeup wakeup;
    EXPECT_FALSE(is_readable(wakeup));
    EXPECT_FALSE(wakeup.drain());
    wakeup.notify();
    wakeup.notify();
    EXPECT_TRUE(is_readable(wakeup));
    EXPECT_TRUE(wakeup.drain());
    EXPECT_FALSE(is_readable(wakeup));
}

TEST(Wakeup, wakes_a_thread_that_polls) {
    const Wakeup wakeup;
    bool woken = false;
    std::thread waiter{[&] { woken = is_readable(wakeup, 60'000); }};
    wakeup.notify();
    waiter.join();
    EXPECT_TRUE(woken);
}

}  // namespace
}  // namespace holdfast::inline base
