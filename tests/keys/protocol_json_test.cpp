#include "keys/protocol_json.h"

#include <gtest/gtest.h>

namespace holdfast::keys {
namespace {

JsonValue parsed(const std::string& text) {
    auto value = read_json_object(text);
    EXPECT_TRUE(value) << text;
    return value ? std::move(*value) : JsonValue{};
}

Heartbeat heartbeat() {
    BackendReport starts{.id = "b-1", .key = {"default", "room-1", "x"}, .token = 17, .ttl = 60s};
    starts.progress = {.state = BackendState::starting, .state_for = 1s};
    starts.holds_for = 41s;
    BackendReport ended{.id = "b-2", .key = {"team", "room-2", ""}, .token = 18, .ttl = 60s};
    ended.progress = {BackendState::terminated, EndReason::start_timed_out, 143, "10.0.0.7:41234", "why it ended", 2s};
    return {.drone = "d1",
            .life = "abc",
            .earlier_lives = {"xyz", "zab"},
            .pool = "gpu",
            .capacity = 5,
            .address = "10.0.0.7",
            .draining = true,
            .clock_ms = 1500,
            .all = true,
            .backends = {starts, ended},
            .reassert_to = "c1"};
}

TEST(Heartbeats, are_read_as_they_were_written) {
    const Heartbeat sent = heartbeat();
    const auto read = heartbeat_from(parsed(to_json(sent)), "d1");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_json(*read), to_json(sent));
    EXPECT_EQ(read->drone, "d1");
    EXPECT_EQ(read->earlier_lives, sent.earlier_lives);
    EXPECT_EQ(read->reassert_to, "c1");
    ASSERT_EQ(read->backends.size(), 2U);
    EXPECT_EQ(read->backends[0].holds_for, 41s);
    EXPECT_EQ(read->backends[0].progress.reason, std::nullopt);
    EXPECT_EQ(read->backends[1].key, sent.backends[1].key);
    EXPECT_EQ(read->backends[1].progress.reason, EndReason::start_timed_out);
    EXPECT_EQ(read->backends[1].progress.exit_code, 143);
    EXPECT_EQ(read->backends[1].holds_for, std::nullopt);
}

TEST(Heartbeats, have_the_form_that_the_contract_says) {
    Heartbeat one = heartbeat();
    one.backends.resize(1);
    EXPECT_EQ(
        to_json(one),
        R"({"life":"abc","earlier_lives":["xyz","zab"],"pool":"gpu","capacity":5,"draining":true,"clock_ms":1500,)"
        R"("address":"10.0.0.7","all":true,"reassert":{"controller":"c1"},"backends":[{"id":"b-1",)"
        R"("key":{"namespace":"default","name":"room-1","tag":"x"},"token":17,"state":"starting",)"
        R"("state_for_ms":1000,"reason":null,"exit_code":null,"address":null,"ttl_ms":60000,"holds_for_ms":41000}]})");
}

TEST(Heartbeats, say_in_plain_text_why_a_backend_ended) {
    const auto said = [](const std::string& message) {
        Heartbeat one = heartbeat();
        one.backends[0].progress.message = message;
        const auto read = heartbeat_from(parsed(to_json(one)), "d1");
        return read ? read->backends[0].progress.message : read.error().message;
    };
    EXPECT_EQ(said("two\nlines"), "two lines");
    EXPECT_EQ(said("\xff\xfe"), "??");
    EXPECT_EQ(said(std::string(299, 'x') + "é"), std::string(299, 'x'));
}

TEST(Heartbeats, with_a_mistake_are_refused_by_the_name_of_the_field) {
    const auto refusal = [](const std::string& body) { return heartbeat_from(parsed(body), "d1").error().message; };
    EXPECT_EQ(refusal(R"({"life": "l"})"), "clock_ms is missing");
    EXPECT_EQ(refusal(R"({"life": "l", "clock_ms": 1, "backends": [{"id": "b", "state": "ready"}]})"),
              "backends[0].token is missing");
    EXPECT_EQ(refusal(R"({"life": "l", "clock_ms": 1, "speed": 3})"), "this route does not know the field speed");
}

TEST(HeartbeatAnswers, are_read_as_they_were_written) {
    const HeartbeatAnswer sent{"c1", true, true, 3s, {"b-1"}};
    const auto read = heartbeat_answer_from(parsed(to_json(sent)));
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(*read), to_json(sent));
    EXPECT_EQ(read->heartbeat_in, 3s);
    EXPECT_EQ(read->reasserted, std::vector<std::string>{"b-1"});
    EXPECT_TRUE(heartbeat_answer_from(parsed(R"({"controller": "c1", "of_tomorrow": 1})")));
    EXPECT_FALSE(heartbeat_answer_from(parsed(R"({"controller": ""})")));
}

TEST(OrdersRequests, are_read_as_they_were_written) {
    const OrdersRequest sent{
        .drone = "d1", .life = "abc", .clock_ms = 1500, .controller = "c1", .done = {17, 18}, .wait = 7s};
    const auto read = orders_request_from(parsed(to_json(sent)), "d1");
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(*read), to_json(sent));
    EXPECT_EQ(read->done, sent.done);
    EXPECT_EQ(read->wait, 7s);
}

SpawnOrder spawn_order() {
    SpawnOrder order{.backend = "b-1f", .key = {"team", "room-1", "t"}, .token = 1763208000001, .ttl = 60s};
    order.deadlines = {HolderInstant{123486s}, HolderInstant{123496s}, HolderInstant{123506s}};
    order.spawn = {.command = "room-server",
                   .args = {"-v", "x y"},
                   .env = {{"A", "1"}},
                   .cwd = "/srv",
                   .port = std::uint16_t{8080},
                   .ready = {Readiness::How::http, "/healthy"},
                   .max_idle = 30s,
                   .lifetime = 90s,
                   .start_timeout = 5s};
    return order;
}

/// The only order of an answer.
Order read_order(const std::string& order) {
    const auto read = orders_answer_from(parsed(R"({"controller": "c1", "orders": [)" + order + "]}"));
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read && read->orders.size() == 1 ? read->orders[0] : Order{};
}

/// A whole spawn, with something else in place of one part.
std::string spawn_text(const std::string& spawn, const std::string& backend = "b-1f") {
    return R"({"number": 19, "kind": "spawn", "backend": ")" + backend +
           R"(", "key": {"namespace": "team", "name": "room-1", "tag": "t"}, "token": 1763208000001, "ttl_ms": 60000,
               "renew_at_ms": 123486000, "soft_terminate_at_ms": 123496000, "hard_terminate_at_ms": 123506000,
               "spawn": )" +
           spawn + "}";
}

TEST(OrdersAnswers, are_read_as_they_were_written) {
    for (const Readiness& ready : {Readiness{Readiness::How::http, "/healthy"}, Readiness{Readiness::How::started},
                                   Readiness{Readiness::How::tcp}}) {
        OrdersAnswer sent{"c1", {{19, spawn_order()}, {20, TerminateOrder{"b-07", Severity::hard}}}};
        std::get<SpawnOrder>(sent.orders[0].what).spawn.ready = ready;
        const auto read = orders_answer_from(parsed(to_json(sent)));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(to_json(*read), to_json(sent));
        EXPECT_EQ(read->orders[0].number, 19U);
        const auto& spawn = std::get<SpawnOrder>(read->orders[0].what);
        EXPECT_EQ(spawn.deadlines, spawn_order().deadlines);
        EXPECT_EQ(spawn.spawn.env, spawn_order().spawn.env);
        EXPECT_EQ(spawn.spawn.max_idle, 30s);
        EXPECT_EQ(spawn.spawn.ready.how, ready.how);
        EXPECT_EQ(std::get<TerminateOrder>(read->orders[1].what).how, Severity::hard);
    }
}

TEST(OrdersAnswers, need_not_say_what_has_a_default) {
    const Order order = read_order(spawn_text(
        R"({"command": "x", "args": [], "env": {}, "cwd": null, "port": null, "ready": {"tcp": true},
            "max_idle_s": null, "lifetime_s": null, "of_tomorrow": 1})"));
    const auto& spawn = std::get<SpawnOrder>(order.what).spawn;
    EXPECT_EQ(spawn.ready.how, Readiness::How::tcp);
    EXPECT_FALSE(spawn.port);
    EXPECT_FALSE(spawn.cwd);
    EXPECT_FALSE(spawn.max_idle);
    EXPECT_EQ(spawn.start_timeout, 60s);
}

TEST(OrdersAnswers, have_unclear_orders_beside_clear_ones) {
    for (const std::string& bad :
         {spawn_text(R"({"command": ""})"), spawn_text(R"({"command": "x", "port": 70000})"),
          spawn_text(R"({"command": "x", "env": {"A=B": "1"}})"), spawn_text(R"({"command": "x", "args": [1]})"),
          spawn_text(R"({"command": "x\u0000y"})"), spawn_text(R"({"command": "x"})", "../../etc/passwd"),
          std::string(R"({"number": 1, "kind": "dance", "backend": "b-1"})")}) {
        const auto read = orders_answer_from(parsed(R"({"controller": "c1", "orders": [)" + bad +
                                                    R"(, {"number": 20, "kind": "terminate", "backend": "b-07",
                                                         "how": "hard"}]})"));
        ASSERT_TRUE(read) << bad;
        EXPECT_TRUE(std::holds_alternative<UnclearOrder>(read->orders[0].what)) << bad;
        EXPECT_EQ(std::get<TerminateOrder>(read->orders[1].what).how, Severity::hard);
    }
    const Order order = read_order(spawn_text(R"({"command": "x", "port": 70000})"));
    EXPECT_EQ(std::get<UnclearOrder>(order.what).why, "order 19: spawn.port must be a whole number from 1 to 65535");
}

}  // namespace
}  // namespace holdfast::keys
