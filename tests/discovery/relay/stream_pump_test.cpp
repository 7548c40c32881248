#include "discovery/relay/stream_pump.h"

#include <algorithm>
#include <condition_variable>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <thread>

#include "discovery/relay/test_sockets.h"

namespace holdfast::discovery::relay {
namespace {

/// A pump, and the streams it has said to have ended.
class PumpTest : public testing::Test {
 protected:
    PumpTest()
        : pump_([this](std::vector<std::uint64_t> ids) {
              const std::lock_guard lock(mutex_);
              ended_.insert(ids.begin(), ids.end());
              changed_.notify_all();
          }) {
        const auto started = pump_.start();
        EXPECT_TRUE(started);
    }

    struct Ends {
        TestSocket consumer, publisher;
    };
    std::shared_ptr<TrafficShare> unlimited() { return std::make_shared<TrafficShare>(0); }

    Ends join(std::uint64_t id, std::shared_ptr<TrafficShare> service = std::make_shared<TrafficShare>(0),
              std::string early = "") {
        auto [consumer, relay_c] = connected_pair();
        auto [publisher, relay_p] = connected_pair();
        pump_.join({.id = id,
                    .consumer = relay_c.release_without_blocking(),
                    .publisher = relay_p.release_without_blocking(),
                    .for_publisher = std::move(early),
                    .service = std::move(service),
                    .identity = unlimited()});
        return {std::move(consumer), std::move(publisher)};
    }

    bool ends(std::uint64_t id) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return ended_.count(id) > 0; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::uint64_t> ended_;
    StreamPump pump_;
};

TEST_F(PumpTest, copies_both_ways) {
    Ends ends = join(1);
    ends.consumer.send("ping");
    EXPECT_EQ(ends.publisher.receive(4), "ping");
    ends.publisher.send("pong");
    EXPECT_EQ(ends.consumer.receive(4), "pong");
}

TEST_F(PumpTest, sends_early_bytes_first) {
    Ends ends = join(1, unlimited(), "early ");
    ends.consumer.send("and late");
    EXPECT_EQ(ends.publisher.receive(14), "early and late");
}

TEST_F(PumpTest, passes_a_half_close_of_the_consumer_on_and_the_rest_the_other_way) {
    Ends ends = join(1);
    ends.consumer.send("all I have to say");
    ends.consumer.end_sending();
    EXPECT_EQ(ends.publisher.receive_all(), "all I have to say");
    ends.publisher.send("and my answer");
    ends.publisher.end_sending();
    EXPECT_EQ(ends.consumer.receive_all(), "and my answer");
    EXPECT_TRUE(this->ends(1));
}

TEST_F(PumpTest, passes_a_half_close_of_the_publisher_on_and_the_rest_the_other_way) {
    Ends ends = join(1);
    ends.publisher.end_sending();
    EXPECT_EQ(ends.consumer.receive_all(), "");
    ends.consumer.send("late");
    EXPECT_EQ(ends.publisher.receive(4), "late");
    ends.consumer.end_sending();
    EXPECT_EQ(ends.publisher.receive_all(), "");
    EXPECT_TRUE(this->ends(1));
}

TEST_F(PumpTest, passes_a_reset_on) {
    Ends first = join(1);
    first.consumer.reset();
    EXPECT_TRUE(first.publisher.is_reset());
    Ends second = join(2);
    second.publisher.reset();
    EXPECT_TRUE(second.consumer.is_reset());
    EXPECT_TRUE(ends(1));
    EXPECT_TRUE(ends(2));
}

TEST_F(PumpTest, passes_a_reset_on_while_the_other_side_takes_nothing) {
    Ends ends = join(1);
    ends.publisher.fill();
    ends.publisher.reset();
    EXPECT_TRUE(this->ends(1));
    EXPECT_TRUE(ends.consumer.is_reset());
}

TEST_F(PumpTest, carries_much_both_ways_at_once_unchanged) {
    Ends ends = join(1);
    const std::string there = noise(48 << 20, 1), back = noise(32 << 20, 2);
    std::thread consumer_sends([&] {
        ends.consumer.send(there);
        ends.consumer.end_sending();
    });
    std::thread publisher_sends([&] {
        ends.publisher.send(back);
        ends.publisher.end_sending();
    });
    std::string got_back;
    std::thread consumer_receives([&] { got_back = ends.consumer.receive_all(); });
    EXPECT_TRUE(ends.publisher.receive_all() == there);
    for (std::thread* thread : {&consumer_sends, &publisher_sends, &consumer_receives})
        thread->join();
    EXPECT_TRUE(got_back == back);
    EXPECT_TRUE(this->ends(1));
}

TEST_F(PumpTest, stops_reading_for_one_that_does_not_read_and_serves_the_others) {
    Ends stuck = join(1);
    const std::size_t taken = stuck.publisher.fill();
    EXPECT_LT(taken, 64u << 20) << "somebody keeps what nobody reads";
    Ends other = join(2);
    const std::string much = noise(8 << 20, 3);
    std::thread sends([&] { other.publisher.send(much); });
    EXPECT_TRUE(other.consumer.receive(much.size()) == much);
    sends.join();
    EXPECT_EQ(stuck.consumer.receive(taken).size(), taken) << "and nothing was lost meanwhile";
}

TEST_F(PumpTest, carries_two_thousand_streams_at_once) {
    raise_open_files(10'000);
    std::vector<Ends> all;
    for (std::uint64_t id = 1; id <= 2000; ++id)
        all.push_back(join(id));
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].consumer.send("to " + std::to_string(i) + "\n");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string expected = "to " + std::to_string(i) + "\n";
        ASSERT_EQ(all[i].publisher.receive(expected.size()), expected);
        all[i].publisher.send(expected);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string expected = "to " + std::to_string(i) + "\n";
        ASSERT_EQ(all[i].consumer.receive(expected.size()), expected);
        all[i].consumer.close();
        all[i].publisher.close();
    }
    for (std::uint64_t id = 1; id <= 2000; ++id)
        ASSERT_TRUE(ends(id));
}

TEST_F(PumpTest, keeps_to_the_rate_of_a_service_and_shares_it) {
    const auto share = std::make_shared<TrafficShare>(1 << 20);
    std::vector<Ends> all;
    for (std::uint64_t id = 1; id <= 4; ++id)
        all.push_back(join(id, share));
    const auto begun = std::chrono::steady_clock::now();
    const std::string piece = noise(256 << 10, 4);
    for (Ends& ends : all)
        ends.consumer.send(piece);
    for (Ends& ends : all)
        EXPECT_TRUE(ends.publisher.receive(piece.size()) == piece);
    // A mebibyte, of which a tenth was saved up.
    EXPECT_GT(std::chrono::steady_clock::now() - begun, 800ms);
    EXPECT_EQ(share->to_publisher.load(), 1u << 20);
    EXPECT_EQ(share->to_consumer.load(), 0u);
}

TEST_F(PumpTest, ends_a_stream_that_is_paused) {
    const auto share = std::make_shared<TrafficShare>(10);
    Ends ends = join(1, share);
    ends.consumer.send(noise(1000, 5));
    (void)ends.publisher.receive(1);
    ends.consumer.reset();
    EXPECT_TRUE(this->ends(1));
    EXPECT_TRUE(ends.publisher.is_reset());
}

TEST_F(PumpTest, resets_all_streams_when_told_to_cut_them) {
    Ends first = join(1), second = join(2);
    first.consumer.send("x");
    EXPECT_EQ(first.publisher.receive(1), "x");
    pump_.cut_all();
    EXPECT_TRUE(ends(1));
    EXPECT_TRUE(ends(2));
    EXPECT_TRUE(first.consumer.is_reset());
    EXPECT_TRUE(second.publisher.is_reset());
}

}  // namespace
}  // namespace holdfast::discovery::relay
