#include <holdfast/agent.h>
#include <holdfast/local.h>

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/in.h>
#include <stdexcept>
#include <stop_token>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/time.h"
#include "client/scripted_server.h"

namespace holdfast::client {
namespace {

using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;

constexpr auto for_long = 1h;

/// An acquire on another thread.
struct Asking {
    Asking(Client client, std::vector<Intent> intents, std::chrono::milliseconds wait = for_long)
        : answer(std::async(std::launch::async, [this, client, intents, wait]() mutable {
              return client.acquire(intents, {.wait = wait, .stop = stop.get_token()});
          })) {}

    ~Asking() { stop.request_stop(); }

    /// Well before the wait is over.
    Acquired get() {
        if (answer.wait_for(60s) != std::future_status::ready) throw std::runtime_error("the stop did nothing");
        return answer.get();
    }

    std::stop_source stop;
    std::future<Acquired> answer;
};

void expect_cancelled(const Acquired& acquired) {
    ASSERT_FALSE(acquired);
    EXPECT_EQ(acquired.outcome(), Outcome::cancelled);
    EXPECT_EQ(acquired.failure().code, "cancelled");
}

/// The place that somebody who comes now would have in the queue.
std::size_t place_in_queue(Client client, const std::string& resource) {
    return client.acquire(resource).failure().queue_position;
}

TEST(Stop, that_was_requested_before_asks_nobody) {
    std::stop_source stop;
    stop.request_stop();
    ScriptedServer server([](const Request&) { return Reply{granted_answer("a", 7, 60'000)}; });
    Client client({.server = server.url()});
    expect_cancelled(client.acquire("a", {.wait = for_long, .stop = stop.get_token()}));
    EXPECT_EQ(server.connections(), 0);
    Local local;
    expect_cancelled(local.client().acquire("a", {.stop = stop.get_token()}));
    EXPECT_TRUE(local.client().acquire("a"));
}

TEST(Stop, that_is_never_requested_changes_nothing) {
    Local local;
    const std::stop_source stop;
    EXPECT_TRUE(local.client().acquire("a", {.stop = stop.get_token()}));
    auto held = local.client().acquire("a");
    EXPECT_EQ(local.client().acquire("a", {.wait = 50ms, .stop = stop.get_token()}).outcome(), Outcome::busy);
}

TEST(Stop, gives_up_the_place_in_the_queue_before_the_call_returns) {
    Local local;
    auto held = local.client("alice").acquire("db");
    Asking bob(local.client("bob"), {{"db"}});
    ASSERT_TRUE(eventually([&] { return place_in_queue(local.client("carol"), "db") == 2; }));
    bob.stop.request_stop();
    expect_cancelled(bob.get());
    EXPECT_EQ(place_in_queue(local.client("carol"), "db"), 1U);
}

TEST(Stop, lets_nobody_have_what_was_granted_at_the_same_time) {
    Local local;
    for (int round = 0; round < 50; ++round) {
        auto held = local.client("alice").acquire("db");
        Asking bob(local.client("bob"), {{"db"}});
        ASSERT_TRUE(eventually([&] { return place_in_queue(local.client("carol"), "db") == 2; }));
        std::thread releases([&] { held.lease().release(); });
        bob.stop.request_stop();
        {
            const Acquired answer = bob.get();
            EXPECT_TRUE(answer.outcome() == Outcome::cancelled || answer.outcome() == Outcome::granted);
            releases.join();
            if (!answer) {
                EXPECT_TRUE(local.client("carol").acquire("db")) << "a cancelled acquire took it";
            }
        }
    }
}

TEST(Stop, releases_a_grant_that_crosses_it) {
    std::promise<void> stopped;
    std::atomic<int> asked = 0;
    std::atomic<int> released = 0;
    ScriptedServer server([&](const Request& request) {
        if (request.method == "DELETE") {
            ++released;
            return Reply{http_answer(200, R"({"id": "a#7", "released": true})")};
        }
        ++asked;
        stopped.get_future().wait();
        return Reply{granted_answer("a", 7, 60'000)};
    });
    Asking asking(Client({.server = server.url()}), {{"a"}});
    ASSERT_TRUE(eventually([&] { return asked == 1; }));
    asking.stop.request_stop();
    stopped.set_value();
    expect_cancelled(asking.get());
    EXPECT_EQ(released, 1);
    EXPECT_EQ(asked, 1);
}

TEST(Stop, asks_once_more_without_a_wait_for_an_answer_that_was_lost_and_releases_it) {
    std::mutex mutex;
    std::vector<std::string> asks;
    std::promise<void> stopped;
    std::atomic<int> released = 0;
    ScriptedServer server([&](const Request& request) {
        if (request.method == "DELETE") {
            ++released;
            return Reply{http_answer(200, R"({"id": "a#7", "released": true})")};
        }
        std::unique_lock lock(mutex);
        asks.push_back(request.body);
        const bool first = asks.size() == 1;
        lock.unlock();
        if (!first) return Reply{granted_answer("a", 7, 60'000)};
        stopped.get_future().wait();
        return Reply{"", true};
    });
    Asking asking(Client({.server = server.url()}), {{"a"}});
    ASSERT_TRUE(eventually([&] { return server.requests() == 1; }));
    asking.stop.request_stop();
    stopped.set_value();
    expect_cancelled(asking.get());
    EXPECT_EQ(released, 1);
    ASSERT_EQ(asks.size(), 2U);
    const auto key_in = [](const std::string& body) { return body.substr(body.find("\"idempotency_key\":\""), 51); };
    EXPECT_EQ(key_in(asks[0]), key_in(asks[1]));
    EXPECT_EQ(asks[1].find("wait_ms"), std::string::npos) << asks[1];
}

TEST(Stop, ends_a_call_to_a_server_that_hangs_and_says_that_nothing_is_known) {
    ScriptedServer server([](const Request&) { return Reply{}; });
    Asking asking(Client({.server = server.url(), .timeout = for_long}), {{"a"}});
    ASSERT_TRUE(eventually([&] { return server.requests() == 1; }));
    asking.stop.request_stop();
    const Acquired answer = asking.get();
    expect_cancelled(answer);
    EXPECT_NE(answer.failure().message.find("ends by itself"), std::string::npos);
}

TEST(Stop, ends_the_pause_before_a_server_that_recovers_is_asked_again) {
    ScriptedServer server([](const Request&) {
        return Reply{http_answer(
            503, R"({"verdict": "REFUSED", "error": {"code": "recovering", "message": "m"}, "retry_in_ms": 3600000})")};
    });
    Asking asking(Client({.server = server.url()}), {{"a"}});
    ASSERT_TRUE(eventually([&] { return server.requests() == 1; }));
    asking.stop.request_stop();
    expect_cancelled(asking.get());
    EXPECT_LE(server.requests(), 2);
}

TEST(Stop, ends_the_search_for_a_server_that_answers) {
    const std::string dead = ScriptedServer([](const Request&) { return Reply{}; }).url();
    Asking asking(Client({.server = dead, .timeout = for_long}), {{"a"}});
    asking.stop.request_stop();
    expect_cancelled(asking.get());
}

/// Takes no connection: its queue of those that wait to be taken is full.
class DeafListener {
 public:
    DeafListener() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address_;
        auto* generic = reinterpret_cast<sockaddr*>(&address_);
        if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 0) != 0 ||
            ::getsockname(listener_, generic, &size) != 0)
            throw std::runtime_error("cannot listen on loopback");
        for (int& filler : fillers_) {
            filler = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            ::connect(filler, generic, size);
        }
    }
    ~DeafListener() {
        for (const int filler : fillers_)
            ::close(filler);
        ::close(listener_);
    }
    DeafListener(const DeafListener&) = delete;
    DeafListener& operator=(const DeafListener&) = delete;

    std::string url() const { return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }

 private:
    int listener_;
    sockaddr_in address_{};
    int fillers_[4]{};
};

TEST(Stop, ends_a_connect_in_the_middle_of_a_failover_and_asks_no_further_server) {
    std::atomic<bool> asked = false;
    ScriptedServer first([&](const Request&) {
        asked = true;
        return Reply{http_answer(503, R"({"verdict": "REFUSED", "error": {"code": "stopping", "message": "m"}})")};
    });
    const DeafListener second;
    ScriptedServer third([](const Request&) { return Reply{granted_answer("a", 7, 60'000)}; });
    Asking asking(
        Client(
            {.server = first.url() + "," + second.url() + "," + third.url(), .holder = "alice", .timeout = for_long}),
        {{"a"}});
    ASSERT_TRUE(eventually([&] { return asked.load(); }));
    asking.stop.request_stop();
    expect_cancelled(asking.get());
    EXPECT_EQ(third.requests(), 0);
}

TEST(Stop, after_a_failover_gives_up_the_wait_at_the_server_that_has_it_now) {
    ScriptedServer first([&](const Request&) { return Reply{"", true}; });
    std::promise<void> stopped;
    ScriptedServer second([&](const Request& request) {
        if (request.method == "DELETE") return Reply{http_answer(200, R"({"id": "a#7", "released": true})")};
        stopped.get_future().wait();
        return Reply{http_answer(
            409, R"({"verdict": "WAIT", "error": {"code": "cancelled", "message": "m"}, "conflicts": []})")};
    });
    Asking asking(Client({.server = first.url() + "," + second.url(), .holder = "alice", .timeout = for_long}),
                  {{"a"}});
    ASSERT_TRUE(eventually([&] { return second.requests() == 1; }));
    asking.stop.request_stop();
    stopped.set_value();
    const Acquired answer = asking.get();
    expect_cancelled(answer);
    EXPECT_EQ(answer.failure().message.find("ends by itself"), std::string::npos) << answer.failure().message;
}

TEST(Stop, does_no_harm_to_the_connections_of_the_client) {
    std::atomic<int> renewed = 0;
    ScriptedServer server([&](const Request& request) {
        if (request.method == "DELETE") return Reply{http_answer(200, R"({"id": "a#7", "released": true})")};
        if (request.target == "/v1/heartbeat") {
            ++renewed;
            return Reply{renewed_answer("a#7", 2000)};
        }
        return request.body.find("\"wanted\"") == std::string::npos ? Reply{granted_answer("a", 7, 2000)} : Reply{};
    });
    Client client({.server = server.url()});
    auto held = client.acquire("a");
    ASSERT_TRUE(held);
    for (int i = 0; i < 3; ++i) {
        const int before = server.requests();
        Asking asking(client, {{"wanted"}});
        ASSERT_TRUE(eventually([&] { return server.requests() > before; }));
        asking.stop.request_stop();
        expect_cancelled(asking.get());
    }
    const int before = renewed;
    EXPECT_TRUE(eventually([&] { return renewed >= before + 2; }));
    EXPECT_TRUE(held.lease().held());
    EXPECT_TRUE(client.acquire("a"));
}

TEST(Acquire, goes_on_when_the_last_client_is_destroyed_meanwhile) {
    Local local;
    auto held = local.client("alice").acquire("db");
    auto client = std::make_unique<Client>(local.client("bob"));
    auto answer = std::async(std::launch::async,
                             [copy = *client]() mutable { return std::move(copy).acquire("db", {.wait = for_long}); });
    client.reset();
    ASSERT_TRUE(eventually([&] { return place_in_queue(local.client("carol"), "db") == 2; }));
    held.lease().release();
    EXPECT_TRUE(answer.get());
}

TEST(Work, that_waits_for_its_turn_is_ended_by_its_stop_token) {
    Local local;
    auto held = local.client("alice").acquire("db");
    Agent agent(local.client("bob"));
    std::stop_source stop;
    bool ran = false;
    auto performed = std::async(std::launch::async, [&] {
        return agent.perform({{"db"}}, [&](Work&) { return ran = true; }, {.stop = stop.get_token()});
    });
    ASSERT_TRUE(eventually([&] { return place_in_queue(local.client("carol"), "db") == 2; }));
    stop.request_stop();
    ASSERT_EQ(performed.wait_for(60s), std::future_status::ready);
    const Performed end = performed.get();
    EXPECT_EQ(end.state, IntentState::aborted);
    ASSERT_TRUE(end.why);
    EXPECT_EQ(end.why->outcome, Outcome::cancelled);
    EXPECT_FALSE(ran);
    held.lease().release();
    EXPECT_TRUE(agent.perform({{"db"}}, [](Work& work) { return work.go_on(); })) << "only that one was stopped";
}

TEST(Work, under_way_goes_on_no_more_after_its_stop) {
    Local local;
    Agent agent(local.client("bob"));
    std::stop_source stop;
    const auto performed = agent.perform({{"db"}},
                                         [&](Work& work) {
                                             EXPECT_TRUE(work.go_on());
                                             stop.request_stop();
                                             return work.go_on();
                                         },
                                         {.stop = stop.get_token()});
    ASSERT_TRUE(performed.why);
    EXPECT_EQ(performed.why->code, "cancelled");
    EXPECT_TRUE(local.client().acquire("db"));
}

}  // namespace
}  // namespace holdfast::client
