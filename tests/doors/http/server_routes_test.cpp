#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(ServerRoutes, tell_how_the_server_is) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "r", "alice");
    const Answer health = client.ask("GET", "/health");
    EXPECT_EQ(health.status, 200);
    EXPECT_EQ(health.text("/status"), "ok");
    EXPECT_EQ(health.text("/version"), "test");
    EXPECT_EQ(health.number("/active_leases"), 1);
    EXPECT_EQ(health.number("/waiters"), 0);
    EXPECT_EQ(health.number("/recovering_for_ms"), 0);
}

TEST(ServerRoutes, grant_nothing_while_recovering_and_say_for_how_long) {
    TestDoor door({.recovering = 90s});
    TestClient client = door.connect();
    const Answer health = client.ask("GET", "/health");
    EXPECT_EQ(health.status, 200);
    EXPECT_EQ(health.text("/status"), "recovering");
    EXPECT_EQ(health.number("/recovering_for_ms"), 90'000);
    const Answer refused = client.ask("POST", "/v1/leases", R"({"holder":"a","resource":"r"})");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.code(), "recovering");
    EXPECT_EQ(refused.number("/retry_in_ms"), 90'000);
    EXPECT_EQ(refused.headers.at("retry-after"), "90");
    door.advance(90s);
    EXPECT_EQ(client.ask("GET", "/health").text("/status"), "ok");
    take(client, "r", "a");
}

TEST(ServerRoutes, are_not_ready_while_there_is_no_memory_for_new_leases) {
    DoorSetting setting;
    setting.options.own_trouble = [] { return Trouble{"storage_failed", "the disk is full", std::nullopt, true}; };
    TestDoor door(std::move(setting));
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/ready").status, 200);
    door.run([&] { door.authority().set_memory_full(true); });
    const Answer ready = client.ask("GET", "/ready");
    EXPECT_EQ(ready.status, 503);
    EXPECT_EQ(ready.text("/code"), "memory_full");
    EXPECT_NE(ready.text("/reason").find("--max-memory"), std::string::npos) << ready.body;
    const Answer health = client.ask("GET", "/health");
    EXPECT_EQ(health.text("/status"), "memory_full");
    EXPECT_FALSE(health.truth("/ready"));
    EXPECT_NE(client.ask("GET", "/metrics").body.find("\nholdfast_ready 0"), std::string::npos);
    door.run([&] { door.authority().set_memory_full(false); });
    EXPECT_EQ(client.ask("GET", "/ready").text("/code"), "storage_failed");
}

TEST(ServerRoutes, are_not_ready_while_there_are_no_tokens) {
    TestDoor door({.tokens_fail = true});
    TestClient client = door.connect();
    EXPECT_EQ(ask_for(client, "r", "alice").code(), "tokens_exhausted");
    const Answer ready = client.ask("GET", "/ready");
    EXPECT_EQ(ready.status, 503);
    EXPECT_EQ(ready.text("/code"), "tokens_exhausted");
    EXPECT_EQ(client.ask("GET", "/health").text("/status"), "tokens_exhausted");
}

TEST(ServerRoutes, tell_only_how_the_server_is_until_anything_can_be_asked) {
    const Error away{Code::store_unavailable, "the engine is away"};
    const Error* not_yet = &away;
    DoorSetting setting;
    setting.options.not_yet = [&] { return not_yet; };
    setting.options.store_trouble = [&] { return not_yet; };
    TestDoor door(std::move(setting));
    TestClient client = door.connect();
    const Answer health = client.ask("GET", "/health");
    EXPECT_EQ(health.status, 200);
    EXPECT_EQ(health.text("/status"), "store_unavailable");
    EXPECT_EQ(health.text("/reason"), "the engine is away");
    EXPECT_EQ(client.ask("GET", "/ready").status, 503);
    EXPECT_EQ(client.ask("GET", "/v1/store").status, 200);
    EXPECT_EQ(client.ask("GET", "/metrics").status, 200);
    for (const char* path : {"/v1/leases", "/v1/policy", "/v1/events", "/v1/keys", "/v1/services"}) {
        const Answer refused = client.ask("GET", path);
        EXPECT_EQ(refused.status, 503) << path;
        EXPECT_EQ(refused.code(), "store_unavailable") << path;
        EXPECT_EQ(refused.text("/error/message"), "the engine is away") << path;
        EXPECT_GT(refused.number("/retry_in_ms"), 0) << path;
    }
    EXPECT_EQ(client.ask("POST", "/v1/leases", R"({"holder":"a","resource":"r"})").code(), "store_unavailable");
    door.run([&] { not_yet = nullptr; });
    EXPECT_EQ(client.ask("GET", "/health").text("/status"), "ok");
    take(client, "r", "a");
}

TEST(ServerRoutes, say_that_the_server_is_stopping) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient waiting = door.connect();
    take(client, "r", "bob");
    waiting.send(request_text("POST", "/v1/leases", R"({"holder":"alice","resource":"r","wait_ms":60000})"));
    door.wait_for_waiters(1);
    door.run([&] { door.authority().stop(); });
    const Answer told = waiting.read();
    EXPECT_EQ(told.status, 503);
    EXPECT_EQ(told.code(), "stopping");
    EXPECT_EQ(client.ask("GET", "/health").text("/status"), "stopping");
    EXPECT_EQ(client.ask("POST", "/v1/leases", R"({"holder":"a","resource":"q"})").code(), "stopping");
}

TEST(ServerRoutes, say_that_tokens_ran_out) {
    TestDoor door({.tokens_fail = true});
    door.run([&] { door.durable().fails = true; });
    TestClient client = door.connect();
    const Answer refused = client.ask("POST", "/v1/leases", R"({"holder":"a","resource":"r"})");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.code(), "tokens_exhausted");
}

TEST(ServerRoutes, say_that_a_resource_has_too_many_leases) {
    TestDoor door;
    door.run([&] {
        for (std::size_t i = 0; i < lease::limits::leases_per_record; ++i) {
            authority::AcquireRequest request;
            request.holder = "h" + std::to_string(i);
            request.intents = {{"r", lease::Predicate::consumes}};
            door.authority().acquire(std::move(request), [](const authority::AcquireAnswer&) {});
        }
    });
    TestClient client = door.connect();
    const Answer refused =
        client.ask("POST", "/v1/leases", R"({"holder":"a","intents":[{"resource":"r","predicate":"CONSUMES"}]})");
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(refused.code(), "too_many_leases");
}

TEST(ServerRoutes, say_that_too_many_wait) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "r", "bob");
    door.run([&] {
        for (std::size_t i = 0; i < lease::limits::waiters_per_record; ++i) {
            authority::AcquireRequest request;
            request.holder = "h" + std::to_string(i);
            request.intents = {{"r", lease::Predicate::mutates}};
            request.wait = 60s;
            door.authority().acquire(std::move(request), [](const authority::AcquireAnswer&) {});
        }
    });
    const Answer refused = client.ask("POST", "/v1/leases", R"({"holder":"a","resource":"r","wait_ms":1000})");
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_EQ(refused.code(), "too_many_waiters");
}

TEST(ServerRoutes, count_requests_by_verb_and_outcome) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "r", "alice", R"(,"ttl_ms":1000)");
    client.ask("POST", "/v1/leases", R"({"holder":"bob","resource":"r"})");
    client.ask("GET", "/nowhere");
    door.advance(2s);
    take(client, "r", "alice");
    register_agent(client, "old", 1);
    register_agent(client, "young", 2);
    take(client, "q", "old");
    ask_for(client, "q", "young");
    client.ask("POST", "/v1/agents/nobody/restarting");
    const Answer metrics = client.ask("GET", "/metrics");
    EXPECT_EQ(metrics.status, 200);
    EXPECT_TRUE(metrics.headers.at("content-type").starts_with("text/plain"));
    const auto expect = [&](const char* line) {
        EXPECT_NE(metrics.body.find(line), std::string::npos) << line << "\n" << metrics.body;
    };
    expect("holdfast_requests_total{outcome=\"ok\",verb=\"acquire\"} 3");
    expect("holdfast_requests_total{outcome=\"busy\",verb=\"acquire\"} 1");
    expect("holdfast_requests_total{outcome=\"not_found\",verb=\"none\"} 1");
    expect("holdfast_requests_total{outcome=\"die\",verb=\"acquire\"} 1");
    expect("holdfast_requests_total{outcome=\"ok\",verb=\"put_agent\"} 2");
    expect("holdfast_requests_total{outcome=\"unknown_agent\",verb=\"declare_restart\"} 1");
    expect("holdfast_active_leases 2");
    expect("holdfast_waiters 0");
    expect("holdfast_connections 1");
    expect("holdfast_expiry_lateness_seconds_count 1");
    expect("holdfast_loop_delay_seconds_count");
}

TEST(ServerRoutes, measure_the_delay_of_the_loop) {
    TestDoor door;
    std::string text;
    do {
        text = door.metrics_text();
    } while (text.find("holdfast_loop_delay_seconds_count 0") != std::string::npos);
    EXPECT_NE(text.find("holdfast_loop_delay_seconds_count"), std::string::npos);
}

TEST(ServerRoutes, answer_head_like_get_without_a_body) {
    TestDoor door;
    TestClient client = door.connect();
    for (const char* path : {"/health", "/v1/leases", "/openapi.json", "/v1/policy", "/nowhere"}) {
        const Answer get = client.ask("GET", path);
        const Answer head = client.ask("HEAD", path);
        EXPECT_EQ(head.status, get.status) << path;
        EXPECT_EQ(head.headers.at("content-length"), get.headers.at("content-length")) << path;
    }
    EXPECT_EQ(client.ask("GET", "/health").status, 200) << "a body after HEAD would be taken for an answer";
    EXPECT_EQ(client.ask("HEAD", "/v1/events").headers.at("content-type"), "text/event-stream");
}

TEST(ServerRoutes, know_their_paths_and_methods) {
    TestDoor door;
    TestClient client = door.connect();
    for (const char* path : {"/", "/v1", "/v1/", "/v1/leases/", "/v1/leases/a%231/steal", "/v1/bans/", "/v1/agents/",
                             "/health/", "/v2/leases", "/v1/leases/%zz", "*"}) {
        const Answer answer = client.ask("GET", path);
        EXPECT_EQ(answer.status, 404) << path;
        EXPECT_EQ(answer.code(), "not_found") << path;
    }
    const auto expect = [&](const char* method, const char* path, const char* allow) {
        const Answer answer = client.ask(method, path);
        EXPECT_EQ(answer.status, 405) << method << " " << path;
        EXPECT_EQ(answer.code(), "method_not_allowed");
        EXPECT_EQ(answer.headers.at("allow"), allow);
    };
    expect("PUT", "/v1/leases", "POST, GET, HEAD");
    expect("DELETE", "/v1/leases", "POST, GET, HEAD");
    expect("GET", "/v1/leases/a%231/heartbeat", "POST");
    expect("POST", "/v1/leases/a%231", "GET, HEAD, DELETE");
    expect("OPTIONS", "/v1/policy", "GET, HEAD, PATCH");
    expect("POST", "/v1/agents", "GET, HEAD");
    expect("PATCH", "/v1/agents/a", "GET, HEAD, PUT, DELETE");
    expect("GET", "/v1/agents/a/restarting", "POST");
    expect("BREW", "/health", "GET, HEAD");
}

TEST(ServerRoutes, take_a_whole_url_as_the_target) {
    TestDoor door;
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "http://127.0.0.1:7400/health").status, 200);
    EXPECT_EQ(client.ask("GET", "http://127.0.0.1").status, 404);
    EXPECT_EQ(client.ask("GET", "http://evil.example/health").code(), "origin_refused");
}

}  // namespace
}  // namespace holdfast::doors::http
