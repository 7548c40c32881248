#include "net/buffers.h"

#include <cstring>
#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

constexpr std::size_t no_limit = 1 << 30;

void receive(InputBuffer& input, std::string_view bytes, std::size_t most = no_limit) {
    while (!bytes.empty()) {
        const auto room = input.room(most);
        ASSERT_GT(room.size(), 0U);
        const std::size_t count = std::min(room.size(), bytes.size());
        std::memcpy(room.data(), bytes.data(), count);
        input.received(count);
        bytes.remove_prefix(count);
    }
}

TEST(InputBuffer, keeps_what_was_received_in_order_whatever_is_consumed_between) {
    Buffers spare;
    InputBuffer input(spare);
    std::string expected, found;
    for (int i = 0; i < 5000; ++i) {
        const std::string piece = std::to_string(i) + std::string(static_cast<std::size_t>(i % 97), '.');
        receive(input, piece);
        expected += piece;
        if (i % 3 == 0) input.settle();
        const std::size_t some = input.size() * static_cast<std::size_t>(i % 5) / 4;
        found += input.unread().substr(0, some);
        input.consume(some);
    }
    found += input.unread();
    EXPECT_EQ(found, expected);
}

TEST(InputBuffer, grows_as_bytes_arrive_up_to_the_limit) {
    Buffers spare;
    InputBuffer input(spare);
    constexpr std::size_t most = 200'000;
    EXPECT_EQ(input.room(most).size(), Buffers::bytes);
    receive(input, std::string(most - 1, 'x'), most);
    EXPECT_EQ(input.room(most).size(), 1U);
    EXPECT_LE(input.capacity(), most);
    EXPECT_EQ(input.unread(), std::string(most - 1, 'x'));
}

TEST(InputBuffer, has_room_for_no_more_than_the_limit_though_its_buffer_is_larger) {
    Buffers spare;
    InputBuffer input(spare);
    receive(input, "abc", 10);
    EXPECT_EQ(input.room(10).size(), 7U);
}

TEST(InputBuffer, holds_almost_nothing_once_it_settles) {
    Buffers spare;
    InputBuffer input(spare);
    receive(input, std::string(500'000, 'x'));
    input.consume(499'990);
    input.settle();
    EXPECT_EQ(input.unread(), "xxxxxxxxxx");
    EXPECT_LT(input.capacity(), 100U);
    receive(input, "yz");
    EXPECT_EQ(input.unread(), "xxxxxxxxxxyz");
    input.consume(12);
    input.settle();
    EXPECT_LT(input.capacity(), 100U);
}

}  // namespace
}  // namespace holdfast::net
