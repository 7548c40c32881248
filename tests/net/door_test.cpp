#include "net/door.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace holdfast::net {
namespace {

using boost::asio::ip::tcp;

class TestDoor;

/// Sends back what it receives.
class Echo final : public Connection {
 public:
    Echo(Admitted admitted, TestDoor& test, Limits limits) : Connection(std::move(admitted), limits), test_(test) {}
    ~Echo() override;

    void send(std::string_view text) {
        output() += text;
        wake();
    }
    void end() { finish(); }

    bool busy = false;   ///< takes nothing from its input
    bool waits = false;  ///< for something else, so that it does not end when the door stops

 private:
    void refuse() override {
        send("full");
        finish();
    }
    void stop() override {
        if (!waits) finish();
    }
    bool run() override;
    bool wants_input() const override { return unsent() == 0; }
    void on_check(Clock::time_point) override {}
    void on_close(const std::string& why) override;

    TestDoor& test_;
};

/// A door of such connections, and what happened there.
class TestDoor final : public Door::Owner {
 public:
    explicit TestDoor(Door::Options options = {}, Connection::Limits limits_given = {64 * 1024, 10s})
        : limits(limits_given), door(loop, *this, quick(options), {[this] { log += "("; }, [this] { log += ")"; }}) {
        const auto bound = door.listen("127.0.0.1:0");
        EXPECT_TRUE(bound);
        if (bound) address = *bound;
    }
    ~TestDoor() override { door.shut(); }

    std::shared_ptr<Connection> make_connection(Admitted admitted) override {
        ++made;
        auto echo = std::make_shared<Echo>(std::move(admitted), *this, limits);
        latest = echo.get();
        return echo;
    }
    void on_count(std::size_t connections) override { count = connections; }

    bool until(const std::function<bool()>& holds) {
        const auto limit = std::chrono::steady_clock::now() + 30s;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > limit) return false;
            loop.restart();
            loop.run_one_for(20ms);
        }
        return true;
    }

    boost::asio::io_context loop;
    const Connection::Limits limits;
    std::string log;                  ///< of turns: ( begins, . runs, ) ends
    std::vector<std::string> closed;  ///< and why
    std::size_t made = 0, count = 0, destroyed = 0;
    Echo* latest = nullptr;
    tcp::endpoint address;
    Door door;

 private:
    static Door::Options quick(Door::Options options) {
        options.check_every = 10ms;
        return options;
    }
};

Echo::~Echo() {
    ++test_.destroyed;
}

bool Echo::run() {
    test_.log += ".";
    if (!busy) {
        output() += input();
        consume(input().size());
    }
    if (has_ended()) finish();
    return false;
}

void Echo::on_close(const std::string& why) {
    test_.closed.push_back(why);
}

class Client {
 public:
    explicit Client(TestDoor& door, int receive_bytes = 0) : door_(door), socket_(door.loop) {
        socket_.open(tcp::v4());
        if (receive_bytes > 0) socket_.set_option(boost::asio::socket_base::receive_buffer_size(receive_bytes));
        const std::size_t before = door.made;
        socket_.connect(door.address);
        socket_.non_blocking(true);
        EXPECT_TRUE(door.until([&] { return door.made > before; }));
        connection = door.latest;
    }

    std::size_t send(std::string_view bytes) {
        const ssize_t sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    void end_sending() { ::shutdown(socket_.native_handle(), SHUT_WR); }
    /// What arrives, until it is as long or the connection ends.
    std::string read(std::size_t bytes) {
        std::string found;
        EXPECT_TRUE(door_.until([&] {
            char buffer[64 * 1024];
            const ssize_t got =
                ::recv(socket_.native_handle(), buffer, std::min(sizeof buffer, bytes - found.size()), 0);
            if (got > 0) found.append(buffer, static_cast<std::size_t>(got));
            return found.size() == bytes || got == 0 || (got < 0 && errno != EAGAIN);
        }));
        return found;
    }
    bool has_unread() {
        char byte = 0;
        return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK) == 1;
    }
    bool is_ended() { return read(1).empty(); }
    void close() { socket_.close(); }

    Echo* connection = nullptr;

 private:
    TestDoor& door_;
    tcp::socket socket_;
};

TEST(Door, moves_bytes_both_ways_and_ends_a_connection_with_its_peer) {
    TestDoor door;
    Client client(door);
    EXPECT_EQ(client.connection->peer().substr(0, 10), "127.0.0.1:");
    client.send("hello");
    EXPECT_EQ(client.read(5), "hello");
    EXPECT_EQ(door.count, 1U);
    client.end_sending();
    EXPECT_TRUE(client.is_ended());
    EXPECT_TRUE(door.until([&] { return door.destroyed == 1; }));
    EXPECT_EQ(door.closed, std::vector<std::string>{""});
    EXPECT_EQ(door.count, 0U);
}

TEST(Door, receives_from_all_that_are_ready_before_it_reads_the_clock_and_runs_them) {
    TestDoor door;
    Client one(door), two(door);
    one.send("1");
    two.send("2");
    door.log.clear();
    ASSERT_TRUE(door.until([&] { return door.log.find('.') != std::string::npos; }));
    EXPECT_NE(door.log.find("(..)"), std::string::npos) << door.log;
    EXPECT_EQ(one.read(1), "1");
    EXPECT_EQ(two.read(1), "2");
}

TEST(Door, sends_all_to_a_peer_that_reads_slowly) {
    TestDoor door;
    Client client(door, 4096);
    std::string text(3'000'000, '.');
    for (std::size_t i = 0; i < text.size(); ++i)
        text[i] = static_cast<char>('a' + i % 23);
    client.connection->send(text);
    EXPECT_EQ(client.read(text.size()), text);
    EXPECT_TRUE(door.until([&] { return client.connection->held_bytes() < 1000; }));
}

TEST(Door, leaves_in_the_kernel_what_a_connection_cannot_take) {
    TestDoor door({}, {50'000, 10s});
    Client client(door);
    client.connection->busy = true;
    const std::string text(20'000, 'x');
    std::size_t sent = 0, stalled = 0;
    while (stalled < 20 && sent < 100'000'000) {
        const std::size_t more = client.send(text);
        stalled = more == 0 ? stalled + 1 : 0;
        sent += more;
        door.loop.restart();
        door.loop.run_for(1ms);
    }
    EXPECT_EQ(stalled, 20U) << "it was all taken";
    EXPECT_LE(client.connection->held_bytes(), 100'000U);
}

TEST(Door, gives_up_a_peer_that_does_not_read) {
    TestDoor door({}, {64 * 1024, 100ms});
    Client client(door, 4096);
    client.connection->send(std::string(20'000'000, 'x'));
    ASSERT_TRUE(door.until([&] { return !door.closed.empty(); }));
    EXPECT_EQ(door.closed.front(), "the other end does not read");
}

TEST(Door, says_why_a_connection_broke) {
    TestDoor door;
    Client client(door);
    client.send("x");
    ASSERT_EQ(client.read(1), "x");
    client.connection->send("unread");
    ASSERT_TRUE(door.until([&] { return client.has_unread(); }));
    client.close();  // with unread bytes: a reset
    ASSERT_TRUE(door.until([&] { return !door.closed.empty(); }));
    EXPECT_EQ(door.closed.front(), "Connection reset by peer");
}

TEST(Door, lets_a_peer_read_the_rest_and_waits_for_it_to_close) {
    TestDoor door;
    Client client(door);
    client.connection->send("bye");
    client.connection->end();
    EXPECT_EQ(client.read(3), "bye");
    EXPECT_TRUE(client.is_ended());
    EXPECT_GT(client.send("too late"), 0U);
    EXPECT_TRUE(door.closed.empty());
    client.close();
    EXPECT_TRUE(door.until([&] { return door.closed.size() == 1; }));
}

TEST(Door, waits_only_briefly_for_a_peer_to_close) {
    TestDoor door;
    Client client(door);
    client.connection->end();
    EXPECT_TRUE(client.is_ended());
    ASSERT_TRUE(door.until([&] { return door.closed.size() == 1; }));
    EXPECT_EQ(door.closed.front(), "the other end does not close");
}

// ---- limits ----

TEST(Door, tells_those_over_the_limit_so_and_just_closes_the_rest) {
    TestDoor door({.max_connections = 1, .max_refused = 2});
    Client first(door), second(door), third(door);
    tcp::socket fourth(door.loop);
    fourth.connect(door.address);
    char byte = 0;
    fourth.non_blocking(true);
    EXPECT_TRUE(door.until([&] { return ::recv(fourth.native_handle(), &byte, 1, 0) == 0; }));
    EXPECT_EQ(door.made, 3U);
    EXPECT_EQ(door.count, 1U);
    EXPECT_EQ(second.read(10), "full");
    EXPECT_EQ(third.read(10), "full");
    first.send("still here");
    EXPECT_EQ(first.read(10), "still here");
}

TEST(Door, closes_the_oldest_over_the_limit_for_the_next_one_if_it_is_to) {
    TestDoor door({.max_connections = 1, .max_refused = 2, .oldest_refused_goes = true});
    Client first(door), second(door), third(door);
    EXPECT_EQ(second.read(4), "full");  // and does not close
    EXPECT_EQ(door.closed.size(), 0U);
    Client fourth(door);
    EXPECT_TRUE(door.until([&] { return door.closed.size() == 1; }));
    EXPECT_EQ(fourth.read(10), "full");
    EXPECT_EQ(door.count, 1U);
}

TEST(Door, closes_those_that_buffer_most_if_all_together_buffer_too_much) {
    TestDoor door({.max_buffer_bytes = 1'000'000});
    Client small(door), large(door, 4096), largest(door, 4096);
    large.connection->send(std::string(900'000, 'x'));
    largest.connection->send(std::string(9'000'000, 'x'));
    ASSERT_TRUE(door.until([&] { return door.closed.size() == 1; }));
    EXPECT_EQ(large.read(900'000).size(), 900'000U);
    small.send("hello");
    EXPECT_EQ(small.read(5), "hello");
    EXPECT_EQ(door.closed.size(), 1U);
}

// ---- the end ----

TEST(Door, stops_once_its_connections_have_ended) {
    TestDoor door;
    Client idle(door), waiting(door);
    waiting.connection->waits = true;
    bool stopped = false;
    door.door.stop([&] { stopped = true; });
    EXPECT_TRUE(idle.is_ended());
    EXPECT_FALSE(stopped);
    waiting.connection->send("done");
    waiting.connection->end();
    EXPECT_EQ(waiting.read(4), "done");
    EXPECT_TRUE(door.until([&] { return stopped; }));
    tcp::socket late(door.loop);
    boost::system::error_code refused;
    late.connect(door.address, refused);
    EXPECT_TRUE(refused);
}

TEST(Door, stops_in_bounded_time_though_a_connection_waits) {
    TestDoor door({.stop_grace = 50ms});
    Client client(door);
    client.connection->waits = true;
    bool stopped = false;
    door.door.stop([&] { stopped = true; });
    EXPECT_TRUE(door.until([&] { return stopped; }));
    EXPECT_EQ(door.closed.size(), 1U);
    EXPECT_TRUE(client.is_ended());
}

TEST(Door, may_be_shut_at_any_moment) {
    TestDoor door;
    Client one(door), two(door);
    one.send("1");
    two.connection->end();
    door.door.shut();
    EXPECT_EQ(door.closed.size(), 2U);
    EXPECT_TRUE(one.is_ended());
}

}  // namespace
}  // namespace holdfast::net
