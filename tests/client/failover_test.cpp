#include <holdfast/client.h>

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "client/http_connection.h"
#include "client/scripted_server.h"

namespace holdfast::client {
namespace {

using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;

constexpr auto generous = 20s;
const HttpRequest get_health{.method = "GET", .target = "/health"};
const HttpRequest once_only{.method = "POST", .target = "/v1/once", .body = "{}"};
const HttpRequest repeatable{.method = "POST", .target = "/v1/heartbeat", .body = "{}", .repeatable = true};

Reply said(const std::string& text) {
    return {http_answer(200, text)};
}
Reply failed(int status, const std::string& code) {
    return {http_answer(status, R"({"error": {"code": ")" + code + R"(", "message": "m"}})")};
}

/// An address where nobody listens any more.
std::string dead_url() {
    return ScriptedServer([](const Request&) { return Reply{}; }).url();
}

TEST(Failover, asks_the_next_server_when_nobody_listens_at_the_first_whatever_the_request) {
    ScriptedServer second([](const Request&) { return said("second"); });
    for (const HttpRequest& request : {get_health, once_only, repeatable}) {
        HttpConnection connection(dead_url() + "," + dead_url() + "," + second.url());
        const auto response = connection.send(request, generous);
        ASSERT_TRUE(response) << response.error().message;
        EXPECT_EQ(response->body, "second");
        EXPECT_EQ(connection.server(), second.url());
    }
}

TEST(Failover, keeps_to_the_server_that_works) {
    auto first = std::make_unique<ScriptedServer>([](const Request&) { return Reply{"", true}; });
    ScriptedServer second([](const Request&) { return said("second"); });
    HttpConnection connection(first->url() + "," + second.url());
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(connection.send(get_health, generous));
    EXPECT_EQ(first->requests(), 1);
    EXPECT_EQ(second.requests(), 3);
    EXPECT_EQ(second.connections(), 1);
}

TEST(Failover, does_not_repeat_elsewhere_what_may_have_been_done_but_asks_there_next) {
    ScriptedServer first([](const Request&) { return Reply{"", true}; });
    ScriptedServer second([](const Request&) { return said("second"); });
    HttpConnection connection(first.url() + "," + second.url());
    const auto lost = connection.send(once_only, generous);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::unreachable);
    EXPECT_NE(lost.error().message.find(first.url()), std::string::npos);
    EXPECT_EQ(second.requests(), 0);
    EXPECT_TRUE(connection.send(once_only, generous));
    EXPECT_EQ(first.requests(), 1);
}

TEST(Failover, repeats_elsewhere_what_may_be_repeated) {
    ScriptedServer first([](const Request&) { return Reply{"", true}; });
    ScriptedServer second([](const Request&) { return said("second"); });
    HttpConnection connection(first.url() + "," + second.url());
    const auto response = connection.send(repeatable, generous);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "second");
}

TEST(Failover, does_not_spend_all_its_time_on_a_server_that_hangs) {
    ScriptedServer first([](const Request&) { return Reply{}; });
    ScriptedServer second([](const Request&) { return said("second"); });
    HttpConnection connection(first.url() + "," + second.url());
    const auto response = connection.send(repeatable, 4s);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "second");
}

TEST(Failover, leaves_a_server_that_stops_even_with_what_must_be_done_once) {
    ScriptedServer first([](const Request&) { return failed(503, "stopping"); });
    ScriptedServer second([](const Request&) { return said("second"); });
    HttpConnection connection(first.url() + "," + second.url());
    const auto response = connection.send(once_only, generous);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "second") << "the first has done nothing";
}

TEST(Failover, repeats_what_an_unavailable_server_may_have_done_only_if_that_does_no_harm) {
    ScriptedServer first([](const Request&) { return failed(503, "unavailable"); });
    ScriptedServer second([](const Request&) { return said("second"); });
    HttpConnection careful(first.url() + "," + second.url());
    EXPECT_EQ(careful.send(once_only, generous)->status, 503);
    EXPECT_EQ(careful.send(once_only, generous)->body, "second") << "the next request";
    HttpConnection bold(first.url() + "," + second.url());
    EXPECT_EQ(bold.send(repeatable, generous)->body, "second");
}

TEST(Failover, takes_every_other_answer_as_an_answer) {
    for (const auto& [status, code] : std::vector<std::pair<int, std::string>>{
             {409, "busy"}, {503, "recovering"}, {503, "too_many_waiters"}, {404, "not_found"}}) {
        ScriptedServer first([&, status = status, code = code](const Request&) { return failed(status, code); });
        ScriptedServer second([](const Request&) { return said("second"); });
        HttpConnection connection(first.url() + "," + second.url());
        EXPECT_EQ(connection.send(repeatable, generous)->status, status);
        EXPECT_EQ(connection.send(repeatable, generous)->status, status);
        EXPECT_EQ(second.requests(), 0) << code;
    }
}

TEST(Failover, names_every_server_and_its_reason_if_none_answers) {
    ScriptedServer second([](const Request&) { return Reply{"", true}; });
    const std::string first = dead_url();
    HttpConnection connection(first + "," + second.url());
    const auto response = connection.send(get_health, generous);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::unreachable);
    EXPECT_NE(response.error().message.find(first), std::string::npos) << response.error().message;
    EXPECT_NE(response.error().message.find(second.url()), std::string::npos) << response.error().message;
    EXPECT_EQ(second.requests(), 1) << "once to each";
}

TEST(Failover, returns_the_last_refusal_if_all_are_stopping) {
    ScriptedServer first([](const Request&) { return failed(503, "stopping"); });
    ScriptedServer second([](const Request&) { return failed(503, "stopping"); });
    HttpConnection connection(first.url() + "," + second.url());
    const auto response = connection.send(get_health, generous);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 503);
    EXPECT_EQ(first.requests() + second.requests(), 2);
}

TEST(Failover, follows_a_stream_on_the_next_server_when_it_ends_on_the_first) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    ScriptedServer first([&](const Request&) { return Reply{head + "from first\n", true}; });
    ScriptedServer second([&](const Request&) { return Reply{head + "from second\n", true}; });
    HttpConnection connection(dead_url() + "," + first.url() + "," + second.url());
    std::vector<std::string> lines;
    const auto gather = [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
    };
    EXPECT_FALSE(connection.stream({.method = "GET", .target = "/v1/events"}, gather));
    EXPECT_FALSE(connection.stream({.method = "GET", .target = "/v1/events"}, gather));
    EXPECT_EQ(lines, (std::vector<std::string>{"from first", "from second"}));
}

TEST(Failover, begins_a_stream_elsewhere_if_nothing_of_it_came) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    ScriptedServer first([&](const Request&) { return Reply{"", true}; });
    ScriptedServer second([&](const Request&) { return Reply{head + "from second\n", true}; });
    HttpConnection connection(first.url() + "," + second.url());
    std::vector<std::string> lines;
    const auto gather = [&](std::string_view line) {
        lines.emplace_back(line);
        return false;
    };
    EXPECT_TRUE(connection.stream({.method = "GET", .target = "/v1/events"}, gather));
    EXPECT_EQ(lines, (std::vector<std::string>{"from second"}));
}

/// A repeat waits for what is left of the wait.
std::string but_for_the_wait(std::string body) {
    const auto begin = body.find("\"wait_ms\":");
    return begin == std::string::npos ? body : body.erase(begin, body.find(',', begin) - begin);
}

TEST(Failover, of_an_acquire_repeats_the_same_request_with_its_key) {
    std::mutex mutex;
    std::vector<std::string> bodies;
    const auto keep = [&](const Request& request) {
        const std::lock_guard lock(mutex);
        if (request.method == "POST") bodies.push_back(request.body);
    };
    ScriptedServer first([&](const Request& request) {
        keep(request);
        return Reply{"", true};
    });
    ScriptedServer second([&](const Request& request) {
        keep(request);
        return request.method == "DELETE" ? said(R"({"id": "a#7", "released": true, "state": "RELEASED"})")
                                          : Reply{granted_answer("a", 7, 60'000)};
    });
    for (const auto wait : {0ms, 60'000ms}) {
        bodies.clear();
        Client client({.server = first.url() + "," + second.url(), .holder = "alice", .timeout = generous});
        auto acquired = client.acquire("a", {.wait = wait});
        ASSERT_TRUE(acquired) << acquired.failure().message;
        ASSERT_EQ(bodies.size(), 2U);
        EXPECT_EQ(but_for_the_wait(bodies[0]), but_for_the_wait(bodies[1]));
        EXPECT_NE(bodies[0].find("idempotency_key"), std::string::npos);
    }
}

TEST(Failover, leaves_a_server_that_is_silent_while_a_request_waits_and_keeps_the_key) {
    std::mutex mutex;
    std::vector<std::string> bodies;
    std::atomic<bool> over = false;
    const auto keep = [&](const Request& request) {
        const std::lock_guard lock(mutex);
        bodies.push_back(request.body);
    };
    ScriptedServer silent([&](const Request& request) {
        keep(request);
        while (!over)
            std::this_thread::sleep_for(10ms);
        return Reply{"", true};
    });
    ScriptedServer second([&](const Request& request) {
        if (request.method == "DELETE") return said("{}");
        keep(request);
        return Reply{granted_answer("a", 7, 60'000)};
    });
    Client client({.server = silent.url() + "," + second.url(), .holder = "alice", .timeout = 60s});
    auto acquired = client.acquire("a", {.ttl = 1500ms, .wait = 600s});
    over = true;
    ASSERT_TRUE(acquired) << acquired.failure().message;
    ASSERT_EQ(bodies.size(), 2U);
    const auto key_in = [](const std::string& body) { return body.substr(body.find("idempotency_key")); };
    EXPECT_EQ(key_in(bodies[0]), key_in(bodies[1]));
}

TEST(Failover, stays_with_a_server_that_shows_that_a_request_waits) {
    ScriptedServer second([](const Request&) { return said("second"); });
    ScriptedServer first([](const Request& request) {
        EXPECT_EQ(request.target, "/v1/once");
        return Reply{"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + http_answer(200, "first")};
    });
    HttpConnection connection(first.url() + "," + second.url());
    HttpRequest request = once_only;
    request.max_silence = connection.max_silence(60s);
    EXPECT_GT(request.max_silence, Duration::zero());
    const auto response = connection.send(request, generous);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "first");
    EXPECT_EQ(second.requests(), 0);
}

TEST(Failover, is_a_third_of_the_ttl_away_and_some_seconds_at_most) {
    EXPECT_EQ(HttpConnection("http://127.0.0.1:1").max_silence(60s), Duration::zero()) << "nobody else to ask";
    const HttpConnection several("http://127.0.0.1:1,http://127.0.0.1:2");
    EXPECT_EQ(several.max_silence(3s), Duration{1s});
    EXPECT_EQ(several.max_silence(60s), Duration{5s});
    EXPECT_EQ(several.max_silence(Duration::zero()), Duration{5s});
}

TEST(Failover, of_a_renewal_goes_to_the_node_that_has_a_majority) {
    std::atomic<int> refused = 0, renewed = 0;
    ScriptedServer minority([&](const Request& request) {
        if (request.target != "/v1/heartbeat") return Reply{granted_answer("a", 7, 3000)};
        ++refused;
        return Reply{rejected_answer("a#7", "unavailable")};
    });
    ScriptedServer majority([&](const Request& request) {
        if (request.method == "DELETE") return said(R"({"id": "a#7", "released": true, "state": "RELEASED"})");
        ++renewed;
        return Reply{renewed_answer("a#7", 3000)};
    });
    Client client({.server = minority.url() + "," + majority.url(), .holder = "alice"});
    auto acquired = client.acquire("a", {.ttl = 3s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    ASSERT_TRUE(eventually([&] { return renewed >= 3 || !acquired.lease().held(); }));
    EXPECT_TRUE(acquired.lease().held());
    EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace holdfast::client
