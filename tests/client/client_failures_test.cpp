#include <holdfast/client.h>

#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <thread>

#include "base/time.h"
#include "client/scripted_server.h"

namespace holdfast::client {
namespace {

using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;

bool is_acquire(const Request& request) {
    return request.method == "POST" && request.target == "/v1/leases";
}
bool is_heartbeat(const Request& request) {
    return request.target == "/v1/heartbeat";
}
bool is_release(const Request& request) {
    return request.method == "DELETE";
}

Reply released() {
    return {http_answer(200, R"({"id": "a#7", "released": true, "state": "RELEASED"})")};
}
Reply failed(int status, const std::string& code, const std::string& more = {}) {
    return {http_answer(status,
                        R"({"verdict": "REFUSED", "error": {"code": ")" + code + R"(", "message": "m"})" + more + "}")};
}

/// The value of the idempotency key in an acquire.
std::string key_of(const Request& request) {
    const auto at = request.body.find("\"idempotency_key\":\"");
    return at == std::string::npos ? "" : request.body.substr(at + 19, 32);
}

/// How long after `begun` the lease ends by its holder's count; a little more if the machine is slow.
std::chrono::nanoseconds end_after(std::chrono::steady_clock::time_point begun, const Lease& lease) {
    const auto remaining = lease.remaining();
    return remaining + (std::chrono::steady_clock::now() - begun);
}

Client client_of(const ScriptedServer& server, std::chrono::milliseconds timeout = 10s) {
    return Client({.server = server.url(), .holder = "alice", .timeout = timeout});
}

TEST(ClientFailures, an_acquire_whose_answer_was_lost_is_repeated_with_the_same_key) {
    std::mutex mutex;
    std::vector<std::string> bodies;
    ScriptedServer server([&](const Request& request) {
        if (is_release(request)) return released();
        const std::lock_guard lock(mutex);
        bodies.push_back(request.body);
        return bodies.size() == 1 ? Reply{"", true} : Reply{granted_answer("a", 7, 60'000)};
    });
    auto acquired = client_of(server).acquire("a");
    ASSERT_TRUE(acquired) << acquired.failure().message;
    EXPECT_EQ(acquired.lease().token(), 7U);
    ASSERT_EQ(bodies.size(), 2U);
    EXPECT_EQ(bodies[0], bodies[1]);
}

TEST(ClientFailures, an_acquire_that_is_never_answered_is_unreachable) {
    ScriptedServer server([](const Request&) { return Reply{"", true}; });
    const auto acquired = client_of(server).acquire("a");
    EXPECT_EQ(acquired.outcome(), Outcome::unreachable);
    EXPECT_EQ(acquired.failure().code, "unreachable");
    EXPECT_EQ(server.requests(), 2);
}

TEST(ClientFailures, a_server_that_hangs_is_unreachable_after_the_timeout) {
    ScriptedServer server([](const Request&) { return Reply{}; });
    EXPECT_EQ(client_of(server, 100ms).acquire("a").outcome(), Outcome::unreachable);
}

TEST(ClientFailures, nonsense_is_no_answer) {
    ScriptedServer server([](const Request&) { return Reply{http_answer(201, "<html>")}; });
    EXPECT_EQ(client_of(server).acquire("a").outcome(), Outcome::unreachable);
}

TEST(ClientFailures, a_refusal_is_not_asked_again) {
    ScriptedServer server([](const Request&) { return failed(403, "banned"); });
    const auto acquired = client_of(server).acquire("a", {.wait = 30s});
    EXPECT_EQ(acquired.outcome(), Outcome::refused);
    EXPECT_EQ(acquired.failure().code, "banned");
    EXPECT_EQ(server.requests(), 1);
}

TEST(ClientFailures, without_a_wait_a_recovering_server_is_busy_at_once_and_says_until_when) {
    ScriptedServer server([](const Request&) { return failed(503, "recovering", R"(, "retry_in_ms": 4000)"); });
    const auto acquired = client_of(server).acquire("a");
    EXPECT_EQ(acquired.outcome(), Outcome::busy);
    EXPECT_EQ(acquired.failure().code, "recovering");
    EXPECT_EQ(acquired.failure().retry_in, 4000ms);
    EXPECT_EQ(server.requests(), 1);
}

TEST(ClientFailures, with_a_wait_it_asks_again_over_everything_that_passes_each_time_with_a_fresh_key) {
    std::mutex mutex;
    std::set<std::string> keys;
    ScriptedServer server([&](const Request& request) {
        if (is_release(request)) return released();
        const std::lock_guard lock(mutex);
        keys.insert(key_of(request));
        switch (keys.size()) {
            case 1:
                return failed(503, "recovering", R"(, "retry_in_ms": 50)");
            case 2:
                return failed(503, "stopping");
            case 3:
                return failed(409, "wait_timeout");
            case 4:
                return failed(503, "tokens_exhausted", R"(, "retry_in_ms": 1)");
            default:
                return Reply{granted_answer("a", 7, 60'000)};
        }
    });
    auto acquired = client_of(server).acquire("a", {.wait = 60s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    EXPECT_EQ(keys.size(), 5U);
}

TEST(ClientFailures, with_a_wait_it_outlasts_a_server_that_does_not_answer) {
    std::atomic<int> unanswered = 0;
    ScriptedServer server([&](const Request& request) {
        if (is_release(request)) return released();
        return ++unanswered < 4 ? Reply{"", true} : Reply{granted_answer("a", 7, 60'000)};
    });
    EXPECT_TRUE(client_of(server).acquire("a", {.wait = 60s}));
    EXPECT_EQ(unanswered, 4);
}

TEST(ClientFailures, an_answer_that_comes_after_the_deadline_is_not_handed_out_but_given_back) {
    std::atomic<int> releases = 0;
    ScriptedServer server([&](const Request& request) {
        if (is_release(request)) {
            ++releases;
            return released();
        }
        if (is_heartbeat(request)) return Reply{"", true};
        // So short a TTL is over, by the holder's count, before any answer can come.
        return Reply{granted_answer("a", 7, 40)};
    });
    const auto acquired = client_of(server).acquire("a");
    EXPECT_EQ(acquired.outcome(), Outcome::unreachable);
    EXPECT_EQ(releases, 1);
}

TEST(ClientFailures, a_late_grant_that_the_server_no_longer_honours_is_lost) {
    ScriptedServer server([&](const Request& request) {
        if (is_release(request)) return released();
        if (is_heartbeat(request)) return Reply{rejected_answer("a#7", "lease_expired")};
        return Reply{granted_answer("a", 7, 40)};
    });
    const auto acquired = client_of(server).acquire("a");
    EXPECT_EQ(acquired.outcome(), Outcome::lost);
    EXPECT_EQ(acquired.failure().code, "lease_expired");
}

TEST(ClientFailures, a_grant_that_waited_for_its_turn_counts_from_its_turn) {  // T3
    ScriptedServer server([](const Request& request) {
        if (is_release(request)) return released();
        if (is_heartbeat(request)) return Reply{"", true};
        std::this_thread::sleep_for(2s);
        return Reply{granted_answer("a", 7, 60'000, 1900)};
    });
    const auto begun = std::chrono::steady_clock::now();
    auto acquired = client_of(server).acquire("a", {.wait = 60s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    EXPECT_GT(end_after(begun, acquired.lease()), 61s) << "59.4 s, had it not waited";
}

TEST(ClientFailures, a_grant_counts_from_its_answer_at_the_latest_whatever_is_said_of_a_wait) {
    ScriptedServer server([](const Request& request) {
        if (is_release(request)) return released();
        return Reply{granted_answer("a", 7, 60'000, 600'000)};
    });
    auto acquired = client_of(server).acquire("a", {.wait = 60s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    EXPECT_LE(acquired.lease().remaining(), 60s);
}

TEST(ClientFailures, a_grant_counts_from_the_transmission_that_was_answered) {  // T3
    std::atomic<int> asked = 0;
    ScriptedServer server([&](const Request& request) {
        if (is_release(request)) return released();
        if (is_heartbeat(request)) return Reply{"", true};
        if (++asked > 1) return Reply{granted_answer("a", 7, 60'000)};
        std::this_thread::sleep_for(2s);
        return Reply{"", true};
    });
    const auto begun = std::chrono::steady_clock::now();
    auto acquired = client_of(server).acquire("a", {.wait = 60s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    EXPECT_EQ(asked, 2);
    EXPECT_GT(end_after(begun, acquired.lease()), 61s) << "59.4 s, had it counted from the first";
}

TEST(ClientFailures, a_grant_whose_answer_was_slow_is_renewed_before_it_is_handed_out) {
    std::atomic<int> heartbeats = 0;
    ScriptedServer server([&](const Request& request) {
        if (is_release(request)) return released();
        if (is_heartbeat(request)) {
            ++heartbeats;
            return Reply{renewed_answer("a#7", 60'000)};
        }
        std::this_thread::sleep_for(400ms);
        return Reply{granted_answer("a", 7, 300)};
    });
    auto acquired = client_of(server).acquire("a", {.wait = 60s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    EXPECT_EQ(heartbeats, 1);
    EXPECT_TRUE(acquired.lease().held());
    EXPECT_GT(acquired.lease().remaining(), 30s);
}

/// Hears of the end of a lease.
struct Loss {
    std::atomic<int> calls = 0;
    std::mutex mutex;
    Failure failure;

    void listen_to(Lease& lease) {
        lease.on_lost([this](const Failure& why) {
            const std::lock_guard lock(mutex);
            failure = why;
            ++calls;
        });
    }
    bool heard() {
        return eventually([this] { return calls > 0; });
    }
};

TEST(ClientFailures, a_rejected_renewal_loses_the_lease_at_once) {
    ScriptedServer server([](const Request& request) {
        if (is_acquire(request)) return Reply{granted_answer("a", 7, 1500)};
        return Reply{rejected_answer("a#7", "lease_revoked")};
    });
    auto acquired = client_of(server).acquire("a");
    ASSERT_TRUE(acquired);
    Loss loss;
    loss.listen_to(acquired.lease());
    ASSERT_TRUE(loss.heard());
    EXPECT_FALSE(acquired.lease().held());
    EXPECT_EQ(acquired.lease().state(), Outcome::lost);
    EXPECT_EQ(loss.failure.outcome, Outcome::lost);
    EXPECT_EQ(loss.failure.code, "lease_revoked");
}

TEST(ClientFailures, the_lease_of_a_server_that_is_gone_ends_by_itself_and_is_told_once) {
    auto server = std::make_unique<ScriptedServer>([](const Request&) { return Reply{granted_answer("a", 7, 2000)}; });
    auto acquired = client_of(*server).acquire("a");
    ASSERT_TRUE(acquired);
    std::atomic<bool> uncertain = false;
    acquired.lease().on_change([&](Outcome outcome) { uncertain = uncertain || outcome == Outcome::uncertain; });
    Loss loss;
    loss.listen_to(acquired.lease());
    server.reset();
    ASSERT_TRUE(loss.heard());
    EXPECT_TRUE(uncertain);
    EXPECT_FALSE(acquired.lease().held());
    EXPECT_EQ(loss.failure.code, "unreachable");
    EXPECT_FALSE(acquired.lease().release());
    EXPECT_EQ(loss.calls, 1);
}

TEST(ClientFailures, the_end_is_told_even_while_every_renewal_hangs) {
    ScriptedServer server(
        [](const Request& request) { return is_acquire(request) ? Reply{granted_answer("a", 7, 1000)} : Reply{}; });
    auto acquired = client_of(server, 60s).acquire("a");
    ASSERT_TRUE(acquired);
    Loss loss;
    loss.listen_to(acquired.lease());
    EXPECT_TRUE(loss.heard());
    EXPECT_FALSE(acquired.lease().held());
}

TEST(ClientFailures, a_lease_lives_through_lost_renewals_and_cut_connections) {
    std::atomic<int> renewed = 0;
    ScriptedServer server([&](const Request& request) {
        if (is_acquire(request)) return Reply{granted_answer("a", 7, 4000)};
        if (is_release(request)) return released();
        if (request.number % 3 != 0) return request.number % 2 == 0 ? Reply{"", true} : failed(503, "stopping");
        ++renewed;
        return Reply{renewed_answer("a#7", 4000)};
    });
    auto acquired = client_of(server).acquire("a");
    ASSERT_TRUE(acquired);
    ASSERT_TRUE(eventually([&] {
        server.cut_connections();
        return renewed >= 3 || !acquired.lease().held();
    }));
    EXPECT_TRUE(acquired.lease().held());
}

TEST(ClientFailures, a_barred_lease_is_uncertain_until_its_deadline_and_then_lost) {
    std::atomic<int> heartbeats = 0;
    ScriptedServer server([&](const Request& request) {
        if (is_acquire(request)) return Reply{granted_answer("a", 7, 3000)};
        ++heartbeats;
        return Reply{rejected_answer("a#7", "renewal_barred")};
    });
    auto acquired = client_of(server).acquire("a");
    ASSERT_TRUE(acquired);
    std::atomic<bool> held_while_uncertain = false;
    acquired.lease().on_change([&](Outcome) { held_while_uncertain = acquired.lease().held(); });
    Loss loss;
    loss.listen_to(acquired.lease());
    ASSERT_TRUE(loss.heard());
    EXPECT_TRUE(held_while_uncertain);
    EXPECT_EQ(loss.failure.code, "renewal_barred");
    EXPECT_EQ(heartbeats, 1);
}

TEST(ClientFailures, a_release_that_does_not_get_through_says_so_and_still_ends_the_lease_here) {
    ScriptedServer server([](const Request& request) {
        return is_acquire(request) ? Reply{granted_answer("a", 7, 60'000)} : Reply{"", true};
    });
    auto acquired = client_of(server).acquire("a");
    ASSERT_TRUE(acquired);
    EXPECT_FALSE(acquired.lease().release());
    EXPECT_FALSE(acquired.lease().held());
}

TEST(ClientFailures, a_waiting_acquire_does_not_hold_up_renewals) {
    std::atomic<int> renewed = 0;
    ScriptedServer server([&](const Request& request) {
        if (is_acquire(request))
            return request.body.find("\"wanted\"") != std::string::npos ? Reply{} : Reply{granted_answer("a", 7, 3000)};
        if (is_release(request)) return released();
        ++renewed;
        return Reply{renewed_answer("a#7", 3000)};
    });
    Client client = client_of(server, 100ms);
    auto acquired = client.acquire("a");
    ASSERT_TRUE(acquired);
    std::thread waiter([client]() mutable { EXPECT_FALSE(client.acquire("wanted", {.wait = 4s})); });
    EXPECT_TRUE(eventually([&] { return renewed >= 2; }));
    EXPECT_TRUE(acquired.lease().held());
    waiter.join();
}

TEST(ClientFailures, a_bad_server_address_is_refused_with_the_reason) {
    const auto acquired = Client({.server = "localhost:7400"}).acquire("a");
    EXPECT_EQ(acquired.outcome(), Outcome::refused);
    EXPECT_NE(acquired.failure().message.find("http://HOST:PORT"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::client
