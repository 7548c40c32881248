#include "net/dial.h"

#include <gtest/gtest.h>
#include <optional>

#include "net/listener.h"

namespace holdfast::net {
namespace {

using boost::asio::ip::tcp;

/// A loop, a listener, and a port on which nobody listens.
class DialTest : public ::testing::Test {
 protected:
    DialTest() {
        const auto bound = listener.listen("127.0.0.1:0");
        EXPECT_TRUE(bound);
        port = bound->port();
        tcp::acceptor unused(loop, {boost::asio::ip::make_address("127.0.0.1"), 0});
        deaf_port = unused.local_endpoint().port();
    }

    void run_until(const std::function<bool()>& condition) {
        while (!condition())
            ASSERT_GT(loop.run_one_for(60s), 0U) << "nothing happens any more";
    }
    Dialer::Parts parts(std::vector<Destination> to) {
        return {.loop = loop,
                .to = std::move(to),
                .attempt_within = 60s,
                .pauses = {1ms, 2ms},
                .seed = 1,
                .on_socket = [this](tcp::socket socket) { sockets.push_back(std::move(socket)); },
                .on_failure = [this](const std::string&) { ++failures; }};
    }

    boost::asio::io_context loop;
    Listener listener{loop, [this](tcp::socket) { ++accepted; }};
    std::uint16_t port = 0, deaf_port = 0;
    int accepted = 0, failures = 0;
    std::vector<tcp::socket> sockets;
};

TEST_F(DialTest, connects_to_a_name_or_an_address) {
    for (const std::string host : {"127.0.0.1", "localhost"}) {
        std::optional<Result<tcp::socket>> found;
        dial(loop, {host, port}, 60s, [&](Result<tcp::socket> socket) { found.emplace(std::move(socket)); });
        run_until([&] { return found.has_value(); });
        ASSERT_TRUE(*found) << host << ": " << found->error().message;
        EXPECT_EQ((*found)->remote_endpoint().port(), port);
    }
}

TEST_F(DialTest, says_why_it_cannot_connect) {
    std::optional<Result<tcp::socket>> found;
    dial(loop, {"127.0.0.1", deaf_port}, 60s, [&](Result<tcp::socket> socket) { found.emplace(std::move(socket)); });
    run_until([&] { return found.has_value(); });
    ASSERT_FALSE(*found);
    EXPECT_EQ(found->error().code, Code::unreachable);
    EXPECT_FALSE(found->error().message.empty());
}

TEST_F(DialTest, gives_up_when_its_time_has_passed) {
    std::optional<Result<tcp::socket>> found;
    const auto attempt =
        dial(loop, {"127.0.0.1", port}, 1ns, [&](Result<tcp::socket> socket) { found.emplace(std::move(socket)); });
    run_until([&] { return found.has_value(); });
    EXPECT_TRUE(*found || found->error().message == "connecting took too long");
    loop.poll();
    EXPECT_TRUE(attempt.expired());
}

TEST_F(DialTest, calls_nobody_back_after_it_was_cancelled) {
    bool called = false;
    const auto attempt = dial(loop, {"127.0.0.1", port}, 60s, [&](const Result<tcp::socket>&) { called = true; });
    cancel(attempt);
    listener.close();
    loop.run_for(60s);
    EXPECT_TRUE(attempt.expired());
    EXPECT_FALSE(called);
}

TEST_F(DialTest, tries_one_destination_after_the_other) {
    Dialer dialer(parts({{"127.0.0.1", deaf_port}, {"127.0.0.1", port}}));
    dialer.dial();
    run_until([&] { return sockets.size() == 1; });
    EXPECT_EQ(failures, 1);
}

TEST_F(DialTest, goes_on_until_it_is_stopped) {
    Dialer dialer(parts({{"127.0.0.1", deaf_port}}));
    dialer.dial();
    run_until([&] { return failures == 5; });
    dialer.stop();
    listener.close();
    loop.run_for(60s);
    EXPECT_EQ(failures, 5);
    EXPECT_TRUE(sockets.empty());
}

}  // namespace
}  // namespace holdfast::net
