#include <holdfast/client.h>

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <stop_token>
#include <thread>

#include "base/text.h"
#include "base/time.h"
#include "client/http_connection.h"
#include "client/scripted_server.h"
#include "client/server_process.h"

namespace holdfast::client {
namespace {

Client client_of(const ServerProcess& server, const std::string& holder) {
    return Client({.server = server.url(), .holder = holder});
}

int ask(const ServerProcess& server, const HttpRequest& request) {
    const auto response = HttpConnection(server.url()).send(request, 20s);
    return response ? response->status : 0;
}

TEST(ClientAndServer, grant_exclude_and_hand_over) {
    ServerProcess server;
    Client alice = client_of(server, "alice");
    Client bob = client_of(server, "bob");
    auto held = alice.acquire("FILE:/src/main.c", {.reason = "refactoring"});
    ASSERT_TRUE(held) << held.failure().message;
    const auto busy = bob.acquire("FILE:/src/main.c");
    EXPECT_EQ(busy.outcome(), Outcome::busy);
    ASSERT_EQ(busy.failure().conflicts.size(), 1U);
    EXPECT_EQ(busy.failure().conflicts[0].holder, "alice");
    EXPECT_EQ(busy.failure().conflicts[0].reason, "refactoring");

    std::thread waiter([&] {
        auto next = bob.acquire("FILE:/src/main.c", {.wait = 60s});
        ASSERT_TRUE(next) << next.failure().message;
        EXPECT_FALSE(held.lease().held());
        EXPECT_GT(next.lease().token(), held.lease().token());
    });
    EXPECT_TRUE(held.lease().release());
    waiter.join();
}

TEST(ClientAndServer, a_stop_gives_up_the_place_in_the_queue_before_the_call_returns) {
    ServerProcess server;
    const auto place_of = [&](const std::string& holder) {
        return client_of(server, holder).acquire("db").failure().queue_position;
    };
    auto held = client_of(server, "alice").acquire("db");
    ASSERT_TRUE(held) << held.failure().message;
    for (int round = 0; round < 3; ++round) {
        std::stop_source stop;
        auto answer = std::async(std::launch::async, [&] {
            return client_of(server, "bob").acquire("db", {.wait = 1h, .stop = stop.get_token()});
        });
        ASSERT_TRUE(eventually([&] { return place_of("carol") == 2; }));
        stop.request_stop();
        ASSERT_EQ(answer.wait_for(60s), std::future_status::ready);
        const Acquired end = answer.get();
        EXPECT_EQ(end.outcome(), Outcome::cancelled);
        EXPECT_EQ(end.failure().message.find("ends by itself"), std::string::npos) << "the server had the last word";
        EXPECT_EQ(place_of("carol"), 1U);
    }
}

TEST(ClientAndServer, of_two_servers_ask_the_second_when_the_first_is_dead) {
    ServerProcess first;
    ServerProcess second;
    Client alice({.server = first.url() + "," + second.url(), .holder = "alice"});
    auto before = alice.acquire("before");
    ASSERT_TRUE(before) << before.failure().message;
    first.kill();
    auto after = alice.acquire("after");
    ASSERT_TRUE(after) << after.failure().message;
    EXPECT_EQ(client_of(second, "bob").acquire("after").outcome(), Outcome::busy) << "it is the second that has it";
    EXPECT_TRUE(after.lease().release());
}

TEST(ClientAndServer, keep_a_lease_beyond_its_ttl_and_over_a_clean_restart) {
    ServerProcess server;
    auto acquired = client_of(server, "alice").acquire("db", {.ttl = 5s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    std::atomic<int> renewals = 0;
    acquired.lease().on_change([&](Outcome outcome) { renewals += outcome == Outcome::granted; });
    ASSERT_TRUE(eventually([&] { return renewals >= 2; }));
    server.stop();
    server.start();
    const int before = renewals;
    ASSERT_TRUE(eventually([&] { return renewals >= before + 2 || !acquired.lease().held(); }));
    EXPECT_TRUE(acquired.lease().held());
    EXPECT_TRUE(acquired.lease().release());
}

TEST(ClientAndServer, lose_the_lease_with_the_servers_memory_and_wait_out_its_recovery) {
    ServerProcess server;
    Client alice = client_of(server, "alice");
    ASSERT_EQ(
        ask(server,
            {.method = "PATCH", .target = "/v1/policy", .body = R"({"ttl_max_ms": 2000, "ttl_default_ms": 2000})"}),
        200);
    server.stop();  // so that the next life has never granted more
    server.start();
    auto held = alice.acquire("db");
    ASSERT_TRUE(held) << held.failure().message;
    std::atomic<bool> lost = false;
    held.lease().on_lost([&](const Failure&) { lost = true; });
    server.kill();
    server.start();
    auto next = client_of(server, "bob").acquire("db", {.wait = 120s});
    ASSERT_TRUE(next) << next.failure().message;
    EXPECT_FALSE(held.lease().held());
    EXPECT_TRUE(eventually([&] { return lost.load(); }));
    EXPECT_GT(next.lease().token(), held.lease().token());
}

TEST(ClientAndServer, end_the_lease_here_before_a_frozen_server_wakes) {
    ServerProcess server;
    auto acquired = client_of(server, "alice").acquire("db", {.ttl = 1s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    std::atomic<bool> lost = false;
    acquired.lease().on_lost([&](const Failure&) { lost = true; });
    server.freeze();
    EXPECT_TRUE(eventually([&] { return lost.load(); }));
    EXPECT_FALSE(acquired.lease().held());
    server.thaw();
}

TEST(ClientAndServer, stop_the_work_when_an_admin_revokes_bans_or_bars) {
    ServerProcess server;
    Client alice = client_of(server, "alice");
    const auto loss_after = [&](const std::string& resource, const std::string& method, const std::string& target) {
        auto acquired = alice.acquire(resource, {.ttl = 1500ms});
        EXPECT_TRUE(acquired);
        if (!acquired) return acquired.failure().code;
        std::atomic<bool> lost = false;
        std::string code;
        acquired.lease().on_lost([&](const Failure& failure) {
            code = failure.code;
            lost = true;
        });
        const auto id = percent_encode(acquired.lease().grants().front().id);
        auto path = target;
        if (const auto at = path.find("{id}"); at != std::string::npos) path.replace(at, 4, id);
        EXPECT_EQ(ask(server, {.method = method, .target = path, .body = method == "PUT" ? "{}" : ""}), 200);
        EXPECT_TRUE(eventually([&] { return lost.load(); }));
        return code;
    };
    EXPECT_EQ(loss_after("a", "POST", "/v1/leases/{id}/revoke"), "lease_revoked");
    EXPECT_EQ(loss_after("b", "POST", "/v1/leases/{id}/bar"), "renewal_barred");
    EXPECT_EQ(loss_after("c", "PUT", "/v1/bans/alice"), "banned");
    const auto banned = alice.acquire("d", {.wait = 30s});
    EXPECT_EQ(banned.outcome(), Outcome::refused);
    EXPECT_EQ(banned.failure().code, "banned");
}

TEST(ClientAndServer, keep_many_leases_and_manifests_in_few_messages) {
    ServerProcess server;
    Client client = client_of(server, "alice");
    std::vector<Lease> leases;
    for (int i = 0; i < 200; ++i) {
        auto acquired = client.acquire({{"a" + std::to_string(i)}, {"b" + std::to_string(i), "CONSUMES"}}, {.ttl = 4s});
        ASSERT_TRUE(acquired) << acquired.failure().message;
        leases.push_back(std::move(acquired.lease()));
    }
    std::atomic<int> renewals = 0;
    for (auto& lease : leases)
        lease.on_change([&](Outcome outcome) { renewals += outcome == Outcome::granted; });
    ASSERT_TRUE(eventually([&] { return renewals >= 600; }));
    for (const auto& lease : leases)
        EXPECT_TRUE(lease.held());
}

TEST(ClientAndServer, find_a_server_that_starts_late) {
    ServerProcess server;
    server.stop();
    std::atomic<bool> asking = false;
    std::thread asker([&] {
        Client client = client_of(server, "alice");
        asking = true;
        const auto acquired = client.acquire("db", {.wait = 60s});
        EXPECT_TRUE(acquired) << acquired.failure().message;
    });
    EXPECT_TRUE(eventually([&] { return asking.load(); }));
    server.start();
    asker.join();
}

}  // namespace
}  // namespace holdfast::client
