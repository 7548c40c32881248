#include "doors/peer/outbox.h"

#include <gtest/gtest.h>

namespace holdfast::doors::peer {
namespace {

consensus::LogMessage submit(std::uint64_t number, std::size_t bytes = 100) {
    return consensus::LogSubmit{number, std::string(bytes, 'v')};
}

/// The numbers of the messages in a frame.
std::vector<std::uint64_t> numbers(const std::string& bytes) {
    codec::peer::Decoder decoder;
    const auto frame = decoder.decode(bytes);
    std::vector<std::uint64_t> numbers;
    for (const codec::peer::Message& message : frame->messages)
        numbers.push_back(std::get<consensus::LogSubmit>(std::get<consensus::LogMessage>(message)).number);
    return numbers;
}

TEST(Outbox, gives_all_that_fits_in_order) {
    codec::peer::Encoder encoder;
    Outbox outbox(10'000);
    for (std::uint64_t number = 1; number <= 5; ++number)
        EXPECT_EQ(outbox.add(encoder, submit(number)), 0U);
    std::string frame;
    EXPECT_EQ(outbox.take(frame, 350), 3U);
    EXPECT_EQ(numbers(frame), (std::vector<std::uint64_t>{1, 2, 3}));
    frame.clear();
    EXPECT_EQ(outbox.take(frame, 350), 2U);
    EXPECT_EQ(numbers(frame), (std::vector<std::uint64_t>{4, 5}));
    EXPECT_TRUE(outbox.empty());
    EXPECT_EQ(outbox.bytes(), 0U);
    EXPECT_EQ(outbox.take(frame, 350), 0U);
}

TEST(Outbox, gives_one_that_is_larger_than_what_fits_by_itself) {
    codec::peer::Encoder encoder;
    Outbox outbox(10'000);
    outbox.add(encoder, submit(1, 1000));
    outbox.add(encoder, submit(2));
    std::string frame;
    EXPECT_EQ(outbox.take(frame, 350), 1U);
    EXPECT_EQ(numbers(frame), (std::vector<std::uint64_t>{1}));
}

TEST(Outbox, drops_the_oldest_when_it_is_full) {
    codec::peer::Encoder encoder;
    Outbox outbox(1000);
    std::size_t lost = 0;
    for (std::uint64_t number = 1; number <= 1000; ++number) {
        lost += outbox.add(encoder, submit(number));
        ASSERT_LE(outbox.bytes(), 1000U);
    }
    std::string frame;
    EXPECT_EQ(outbox.take(frame, 1 << 20) + lost, 1000U);
    const auto left = numbers(frame);
    ASSERT_FALSE(left.empty());
    EXPECT_EQ(left.back(), 1000U);
    EXPECT_EQ(left.back() - left.front() + 1, left.size());
}

TEST(Outbox, loses_what_has_no_room_in_any_frame_and_keeps_the_rest) {
    codec::peer::Encoder encoder;
    Outbox outbox(10'000);
    outbox.add(encoder, submit(1));
    EXPECT_EQ(outbox.add(encoder, submit(2, codec::peer::max_frame_bytes)), 1U);
    EXPECT_EQ(outbox.messages(), 1U);
}

}  // namespace
}  // namespace holdfast::doors::peer
