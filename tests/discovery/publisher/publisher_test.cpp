// The public API over real sockets, with a relay of the test's own.

#include <holdfast/discovery.h>

#include <boost/asio/write.hpp>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <stop_token>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"
#include "discovery/publisher/event_thread.h"
#include "discovery/publisher/host_port.h"
#include "discovery/publisher/publisher_loop.h"
#include "discovery/publisher/test_relay.h"

namespace holdfast::discovery::publisher {
namespace {

constexpr auto patience = 30s;

/// What a publisher told, to be waited for.
class Told {
 public:
    void add(const ServiceEvent& event) {
        const std::lock_guard lock{mutex_};
        events_.push_back(event);
        changed_.notify_all();
    }
    bool wait_for(const std::string& event, std::size_t times = 1) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, patience, [&] {
            return static_cast<std::size_t>(std::count_if(events_.begin(), events_.end(), [&](const ServiceEvent& one) {
                       return one.event == event;
                   })) >= times;
        });
    }

 private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<ServiceEvent> events_;
};

/// A service on a real port; each connection is handled by the function, one after the other.
class TestService {
 public:
    explicit TestService(std::function<void(Socket)> serve)
        : acceptor_(loop_, {boost::asio::ip::address_v4::loopback(), 0}), serve_(std::move(serve)) {
        address_ = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
        accept();
        thread_ = std::thread([this] { loop_.run(); });
    }
    ~TestService() {
        loop_.stop();
        thread_.join();
    }
    const std::string& address() const { return address_; }

 private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code error, Socket socket) {
            if (error) return;
            serve_(std::move(socket));
            accept();
        });
    }

    boost::asio::io_context loop_{1};
    boost::asio::ip::tcp::acceptor acceptor_;
    std::function<void(Socket)> serve_;
    std::string address_;
    std::thread thread_;
};

/// Says what it was told, in one piece, once the other end has ended.
void answer_whole(Socket socket) {
    std::string all;
    char buffer[4096];
    boost::system::error_code error;
    while (!error) {
        const std::size_t got = socket.read_some(boost::asio::buffer(buffer), error);
        all.append(buffer, got);
    }
    std::string_view rest = all;
    error.clear();
    while (!rest.empty() && !error)
        rest.remove_prefix(socket.write_some(boost::asio::buffer(rest), error));
}

std::string rest_of(int fd) {
    std::string all;
    char buffer[65536];
    for (ssize_t got; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;)
        all.append(buffer, static_cast<std::size_t>(got));
    return all;
}

class Advertising : public testing::Test {
 protected:
    Advertising() { std::filesystem::create_directory(directory_); }
    ~Advertising() override { std::filesystem::remove_all(directory_); }

    AdvertiseOptions options(const std::string& target, const std::string& identity = "key.pem") {
        return {.name = "web",
                .target = target,
                .relay = relay.address().authority(),
                .identity = (directory_ / identity).string(),
                .on_event = [this](const ServiceEvent& event) { told.add(event); }};
    }
    std::string relay_address() const { return relay.address().authority(); }

    TestRelay relay;
    Told told;

 private:
    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("holdfast-discovery-" + random_hex(8));
};

TEST_F(Advertising, makes_a_service_reachable_by_its_name_and_ends_with_the_object) {
    TestService service{answer_whole};
    {
        auto published = Publisher::advertise(options(service.address()));
        ASSERT_TRUE(published) << published.failure().message;
        ASSERT_TRUE(told.wait_for("registered"));
        EXPECT_TRUE(published.publisher().held());
        EXPECT_EQ(published.publisher().name(), "web");
        EXPECT_EQ(published.publisher().identity().size(), 32U);
        const auto stream = connect_service(relay_address(), "web");
        ASSERT_TRUE(stream) << stream.failure.message;
        EXPECT_EQ(::send(stream.fd, "hello", 5, 0), 5);
        ::shutdown(stream.fd, SHUT_WR);
        EXPECT_EQ(rest_of(stream.fd), "hello") << "the half-close went one way, the answer came the other";
        ::close(stream.fd);
    }
    EXPECT_TRUE(told.wait_for("unregistered"));
    EXPECT_EQ(relay.registered(), 0U);
    EXPECT_EQ(connect_service(relay_address(), "web").failure.code, "unknown_service");
}

TEST_F(Advertising, carries_megabytes_both_ways_unchanged) {
    TestService service{answer_whole};
    auto published = Publisher::advertise(options(service.address()));
    ASSERT_TRUE(told.wait_for("registered"));
    const auto stream = connect_service(relay_address(), "web");
    ASSERT_TRUE(stream);
    std::string sent;
    Random random{1};
    while (sent.size() < 8 * 1024 * 1024) {
        const std::uint64_t word = random.next();
        sent.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    std::thread writer{[&] {
        for (std::size_t done = 0; done < sent.size();) {
            const ssize_t wrote = ::send(stream.fd, sent.data() + done, sent.size() - done, MSG_NOSIGNAL);
            if (wrote <= 0) break;
            done += static_cast<std::size_t>(wrote);
        }
        ::shutdown(stream.fd, SHUT_WR);
    }};
    const std::string received = rest_of(stream.fd);
    writer.join();
    ::close(stream.fd);
    EXPECT_TRUE(received == sent) << received.size() << " of " << sent.size() << " bytes";
}

TEST_F(Advertising, refuses_streams_with_a_reason_when_the_target_is_away) {
    std::string nowhere;
    {
        TestService gone{answer_whole};
        nowhere = gone.address();
    }
    auto published = Publisher::advertise(options(nowhere));
    ASSERT_TRUE(told.wait_for("registered"));
    const auto stream = connect_service(relay_address(), "web");
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.failure.code, "refused");
    EXPECT_NE(stream.failure.message.find(nowhere), std::string::npos) << stream.failure.message;
    EXPECT_TRUE(told.wait_for("unserved"));
    EXPECT_EQ(published.publisher().streams(), 0U);
}

TEST_F(Advertising, passes_a_reset_on) {
    TestService service{[](Socket socket) {
        char byte = 0;
        socket.read_some(boost::asio::buffer(&byte, 1));
        socket.set_option(boost::asio::socket_base::linger(true, 0));
        socket.close();
    }};
    auto published = Publisher::advertise(options(service.address()));
    ASSERT_TRUE(told.wait_for("registered"));
    const auto stream = connect_service(relay_address(), "web");
    ASSERT_TRUE(stream) << stream.failure.message;
    char byte = 0;
    ASSERT_EQ(::send(stream.fd, "x", 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(::recv(stream.fd, &byte, 1, 0), -1);
    EXPECT_EQ(errno, ECONNRESET);
    ::close(stream.fd);
}

TEST_F(Advertising, has_no_more_streams_than_it_may) {
    TestService service{[open = std::make_shared<std::vector<Socket>>()](Socket socket) {  // they end before its loop
        open->push_back(std::move(socket));
    }};
    auto limited = options(service.address());
    limited.streams_max = 2;
    auto published = Publisher::advertise(limited);
    ASSERT_TRUE(told.wait_for("registered"));
    const auto first = connect_service(relay_address(), "web");
    const auto second = connect_service(relay_address(), "web");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(published.publisher().streams(), 2U);
    EXPECT_EQ(connect_service(relay_address(), "web").failure.code, "refused");
    ::close(first.fd);
    ::close(second.fd);
}

TEST_F(Advertising, comes_back_by_itself_to_a_relay_that_restarted) {
    TestService service{answer_whole};
    auto published = Publisher::advertise(options(service.address()));
    ASSERT_TRUE(told.wait_for("registered"));
    relay.restart();
    ASSERT_TRUE(told.wait_for("lost"));
    ASSERT_TRUE(told.wait_for("taken_again"));
    EXPECT_TRUE(published.publisher().held());
    const auto stream = connect_service(relay_address(), "web");
    EXPECT_TRUE(stream);
    ::close(stream.fd);
}

TEST_F(Advertising, waits_for_a_relay_that_is_away_and_can_be_ended_meanwhile) {
    auto away = options("127.0.0.1:1");
    {
        TestRelay gone;
        away.relay = gone.address().authority();
    }
    auto published = Publisher::advertise(away);
    ASSERT_TRUE(published);
    EXPECT_TRUE(told.wait_for("disconnected"));
    EXPECT_FALSE(published.publisher().held());
    const auto stream = connect_service(away.relay, "web");
    EXPECT_EQ(stream.failure.outcome, Outcome::unreachable);
}

TEST_F(Advertising, uses_the_next_relay_when_the_first_is_away_and_so_does_a_consumer) {
    TestService service{answer_whole};
    auto several = options(service.address());
    {
        TestRelay gone;
        several.relay = gone.address().authority() + "," + relay_address();
    }
    auto published = Publisher::advertise(several);
    ASSERT_TRUE(published);
    EXPECT_TRUE(told.wait_for("disconnected"));
    EXPECT_TRUE(told.wait_for("registered"));
    const auto stream = connect_service(several.relay, "web");
    EXPECT_TRUE(stream) << stream.failure.message;
    ::close(stream.fd);
}

TEST_F(Advertising, is_renewed_while_a_callback_is_slow_and_leaves_no_event_out) {
    std::promise<void> let_go;
    auto slow = options("127.0.0.1:1");
    slow.ttl = std::chrono::milliseconds{1500};
    slow.on_event = [this, future = let_go.get_future().share()](const ServiceEvent& event) {
        if (event.event == "connected") future.wait();
        told.add(event);
    };
    auto published = Publisher::advertise(slow);
    ASSERT_TRUE(published);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!published.publisher().held() && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(5ms);
    const auto held_since = std::chrono::steady_clock::now();
    while (published.publisher().held() && std::chrono::steady_clock::now() - held_since < 2 * slow.ttl)
        std::this_thread::sleep_for(5ms);
    EXPECT_TRUE(published.publisher().held()) << "for twice its TTL";
    let_go.set_value();
    EXPECT_TRUE(told.wait_for("connected"));
    EXPECT_TRUE(told.wait_for("registered"));
}

TEST_F(Advertising, may_be_ended_by_its_own_callback) {
    std::optional<Publisher> publisher;
    std::promise<void> ready;
    std::promise<void> ended;
    auto own = options("127.0.0.1:1");
    own.on_event = [&, future = ready.get_future().share()](const ServiceEvent& event) {
        if (event.event != "registered") return;
        future.wait();
        publisher.reset();
        ended.set_value();
    };
    publisher = Publisher::advertise(own).publisher();
    ready.set_value();
    ASSERT_EQ(ended.get_future().wait_for(patience), std::future_status::ready);
    EXPECT_FALSE(publisher);
    EXPECT_EQ(relay.registered(), 0U);
}

TEST_F(Advertising, that_was_moved_from_advertises_nothing) {
    auto published = Publisher::advertise(options("127.0.0.1:1"));
    ASSERT_TRUE(published);
    const Publisher moved = std::move(published.publisher());
    const Publisher& left = published.publisher();
    EXPECT_FALSE(left.held());
    EXPECT_EQ(left.name() + left.identity(), "");
    EXPECT_EQ(left.streams(), 0U);
    EXPECT_EQ(moved.name(), "web");
}

TEST(EventThread, leaves_the_oldest_out_when_too_many_wait_and_says_how_many) {
    std::promise<void> let_go;
    std::atomic<bool> waits = false;
    std::vector<ServiceEvent> told;
    {
        EventThread events{[&, future = let_go.get_future().share()](const ServiceEvent& event) {
            waits = true;
            future.wait();
            told.push_back(event);
        }};
        events.put({.event = "first"});
        while (!waits)
            std::this_thread::yield();
        for (std::size_t i = 0; i < EventThread::max_waiting + 7; ++i)
            events.put({.event = std::to_string(i)});
        let_go.set_value();
    }
    ASSERT_EQ(told.size(), EventThread::max_waiting + 2) << "the destructor has what waits told";
    EXPECT_EQ(told[0].event, "first");
    EXPECT_EQ(told[1].event, "events_dropped");
    EXPECT_TRUE(told[1].message.starts_with("7 ")) << told[1].message;
    EXPECT_EQ(told[2].event, "7");
    EXPECT_EQ(told.back().event, std::to_string(EventThread::max_waiting + 6));
}

TEST(ConnectService, is_broken_off_by_a_stop) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listener, generic, size), 0);
    ASSERT_EQ(::listen(listener, 4), 0);
    ASSERT_EQ(::getsockname(listener, generic, &size), 0);
    const std::string silent = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    std::stop_source stop;
    auto stream = std::async(std::launch::async, [&] { return connect_service(silent, "web", 1h, stop.get_token()); });
    const int accepted = ::accept(listener, nullptr, nullptr);
    stop.request_stop();
    ASSERT_EQ(stream.wait_for(patience), std::future_status::ready);
    for (const ServiceConnection& end : {stream.get(), connect_service(silent, "web", 1h, stop.get_token())}) {
        EXPECT_FALSE(end);
        EXPECT_EQ(end.failure.outcome, Outcome::cancelled);
        EXPECT_EQ(end.failure.code, "cancelled");
    }
    ::close(accepted);
    ::close(listener);
}

/// A publisher of `web` that has a stream, and is told to stop.
class Stopping : public Advertising {
 protected:
    void stop_with_a_stream(const std::string& target, Duration grace) {
        PublisherLoop loop{
            {.identity = identity_,
             .relays = {relay.address()},
             .services = {{{.name = "web"}, *parse_host_port(target)}},
             .on_event = [this](const PublisherEvent& event) { told.add({.event = to_string(event.what)}); },
             .streams_grace = grace}};
        std::thread thread{[&] { loop.run(); }};
        EXPECT_TRUE(told.wait_for("registered"));
        stream = connect_service(relay_address(), "web");
        EXPECT_TRUE(stream) << stream.failure.message;
        loop.stop();
        thread.join();
    }
    ~Stopping() override { ::close(stream.fd); }

    ServiceConnection stream;

 private:
    const identity::Identity identity_ = identity::Identity::generate();
};

TEST_F(Stopping, lets_its_streams_come_to_their_end) {
    TestService service{[&](Socket socket) {
        EXPECT_TRUE(told.wait_for("unregistered"));
        boost::asio::write(socket, boost::asio::buffer(std::string_view("all there is")));
        socket.shutdown(Socket::shutdown_send);
        char byte = 0;
        boost::system::error_code ended;
        socket.read_some(boost::asio::buffer(&byte, 1), ended);
        EXPECT_EQ(ended, boost::asio::error::eof);
    }};
    std::thread consumer{[&] {
        EXPECT_TRUE(told.wait_for("unregistered"));
        EXPECT_EQ(rest_of(stream.fd), "all there is");
        ::shutdown(stream.fd, SHUT_WR);
    }};
    stop_with_a_stream(service.address(), patience);
    consumer.join();
}

TEST_F(Stopping, resets_a_stream_that_does_not_end_so_that_nobody_takes_it_for_whole) {
    TestService service{[open = std::make_shared<std::vector<Socket>>()](Socket socket) {
        boost::asio::write(socket, boost::asio::buffer(std::string_view("begun")));
        open->push_back(std::move(socket));
    }};
    stop_with_a_stream(service.address(), 0s);
    char byte = 0;
    ssize_t got = 1;
    while (got > 0)
        got = ::recv(stream.fd, &byte, 1, 0);
    EXPECT_EQ(got, -1);
    EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(Advertising, follows_a_service_to_the_relay_that_it_is_at) {
    TestService service{answer_whole};
    auto published = Publisher::advertise(options(service.address()));
    ASSERT_TRUE(told.wait_for("registered"));
    TestRelay other;
    other.send_elsewhere(relay_address());
    const auto stream = connect_service(other.address().authority(), "web");
    EXPECT_TRUE(stream) << stream.failure.message;
    ::close(stream.fd);
    relay.send_elsewhere(other.address().authority());
    EXPECT_EQ(connect_service(other.address().authority(), "web").failure.code, "elsewhere") << "but not in circles";
}

TEST_F(Advertising, says_what_is_wrong_with_its_options) {
    const auto code_of = [](const AdvertiseOptions& wrong) {
        auto published = Publisher::advertise(wrong);
        return published ? "ok" : published.failure().code;
    };
    EXPECT_EQ(code_of(options("nowhere")), "invalid_argument");
    auto wrong = options("127.0.0.1:1");
    wrong.relay = "a:b:c";
    EXPECT_EQ(code_of(wrong), "invalid_argument");
    wrong = options("127.0.0.1:1");
    wrong.name = std::string(256, 'n');
    EXPECT_EQ(code_of(wrong), "invalid_name");
    wrong = options("127.0.0.1:1");
    wrong.identity = std::filesystem::temp_directory_path().string();
    EXPECT_EQ(code_of(wrong), "identity_corrupt");
    EXPECT_EQ(connect_service("a:b:c", "web").failure.code, "invalid_argument");
    EXPECT_EQ(connect_service("127.0.0.1:1", "").failure.code, "invalid_name");
}

}  // namespace
}  // namespace holdfast::discovery::publisher
