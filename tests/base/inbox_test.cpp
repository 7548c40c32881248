#include "base/inbox.h"

#include <gtest/gtest.h>
#include <memory>
#include <poll.h>
#include <thread>

namespace holdfast::inline base {
namespace {

bool is_readable(int fd, int timeout_ms = 0) {
    pollfd waiting{fd, POLLIN, 0};
    return ::poll(&waiting, 1, timeout_ms) == 1;
}

TEST(Inbox, has_what_was_put_until_it_is_taken) {
    Inbox<std::unique_ptr<int>> inbox;
    EXPECT_FALSE(is_readable(inbox.fd()));
    EXPECT_TRUE(inbox.take().empty());
    inbox.put(std::make_unique<int>(1));
    inbox.put(std::make_unique<int>(2));
    EXPECT_TRUE(is_readable(inbox.fd()));
    const auto items = inbox.take();
    ASSERT_EQ(items.size(), 2U);
    EXPECT_EQ(*items[0], 1);
    EXPECT_EQ(*items[1], 2);
    EXPECT_FALSE(is_readable(inbox.fd()));
    EXPECT_TRUE(inbox.take().empty());
}

TEST(Inbox, loses_nothing_of_several_threads) {
    constexpr int per_thread = 1000;
    Inbox<int> inbox;
    const auto write = [&] {
        for (int i = 0; i < per_thread; ++i)
            inbox.put(i);
    };
    std::thread one{write}, other{write};
    std::size_t taken = 0;
    while (taken < 2 * per_thread && is_readable(inbox.fd(), 60'000))
        taken += inbox.take().size();
    one.join();
    other.join();
    EXPECT_EQ(taken, 2U * per_thread);
}

}  // namespace
}  // namespace holdfast::inline base
