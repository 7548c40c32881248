#include "keys/drone/messages.h"

#include <boost/json.hpp>

#include "keys/drone/orders_for_tests.h"

namespace holdfast::keys::drone {
namespace {

const Identity drone{.id = "d 1",
                     .life = "abc",
                     .earlier_lives = {"xyz", "zab"},
                     .pool = "default",
                     .capacity = 5,
                     .address = "10.0.0.7"};

std::string answer_with(const std::string& order) {
    return R"({"controller": "c1", "orders": [)" + order + "]}";
}

/// A whole spawn, with something else in place of one part.
std::string spawn_text(const std::string& spawn, const std::string& backend = "b-1f") {
    return R"({"number": 19, "kind": "spawn", "backend": ")" + backend +
           R"(", "key": {"namespace": "team", "name": "room-1", "tag": "t"}, "token": 1763208000001, "ttl_ms": 60000,
               "renew_at_ms": 123486000, "soft_terminate_at_ms": 123496000, "hard_terminate_at_ms": 123506000,
               "spawn": )" +
           spawn + "}";
}

Order only_order(const std::string& order) {
    const auto read = read_orders({200, answer_with(order)});
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read && read->orders.size() == 1 ? read->orders[0] : Order{};
}

TEST(DroneMessages, a_heartbeat_has_what_the_contract_says) {
    HeartbeatAsk ask{.clock = HolderInstant{1500ms}, .draining = true, .all = true, .reassert = "c1"};
    BackendReport report{.id = "b-1", .key = {"default", "room-1", "x"}, .token = 17, .ttl = 60s};
    report.state = BackendState::ready;
    report.state_for = 1s;
    report.port = 41234;
    report.holds_for = 41s;
    ask.backends = {report};
    const client::HttpRequest request = heartbeat_request(drone, ask);
    EXPECT_EQ(request.target, "/v1/drones/d%201/heartbeat");
    EXPECT_EQ(boost::json::parse(request.body), boost::json::parse(R"({
        "life": "abc", "pool": "default", "capacity": 5, "draining": true, "clock_ms": 1500, "address": "10.0.0.7",
        "all": true, "reassert": {"controller": "c1"}, "earlier_lives": ["xyz", "zab"], "backends": [{"id": "b-1", "key": {"namespace": "default",
        "name": "room-1", "tag": "x"}, "token": 17, "state": "ready", "state_for_ms": 1000, "reason": null, "exit_code": null,
        "address": "10.0.0.7:41234", "ttl_ms": 60000, "holds_for_ms": 41000}]})"));
}

TEST(DroneMessages, a_reason_in_words_is_told_as_plain_text) {
    HeartbeatAsk ask{};
    for (const std::string& message :
         {std::string("two\nlines"), std::string("\xff\xfe"), std::string(299, 'x') + "\u00e9"}) {
        BackendReport report{.id = "b-1"};
        report.message = message;
        ask.backends.push_back(report);
    }
    const auto body = boost::json::parse(heartbeat_request(drone, ask).body);
    const auto& backends = body.at("backends").as_array();
    EXPECT_EQ(backends.at(0).at("message").as_string(), "two lines");
    EXPECT_EQ(backends.at(1).at("message").as_string(), "??");
    EXPECT_EQ(backends.at(2).at("message").as_string(), std::string(299, 'x'));
}

TEST(DroneMessages, an_answer_to_a_heartbeat_is_read) {
    const auto answer = read_heartbeat({200, R"({"controller": "c1", "send_all": true, "drain": false,
        "heartbeat_in_ms": 3000, "reasserted": ["b-1"]})"});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->controller, "c1");
    EXPECT_TRUE(answer->send_all);
    EXPECT_EQ(answer->heartbeat_in, 3s);
    EXPECT_EQ(answer->reasserted, std::vector<std::string>{"b-1"});
}

TEST(DroneMessages, an_answer_that_makes_no_sense_is_none) {
    EXPECT_EQ(read_heartbeat({200, "{}"}).error().code, "bad_answer");
    EXPECT_EQ(read_heartbeat({409, R"({"error": {"code": "stale_drone", "message": "m"}})"}).error().code,
              "stale_drone");
    EXPECT_FALSE(read_orders({200, "nonsense"}));
    EXPECT_FALSE(read_orders({200, R"({"controller": "c1"})"}));
}

TEST(DroneMessages, a_spawn_is_read_whole) {
    const Order order = only_order(spawn_text(R"({"command": "room-server", "args": ["-v", "x y"], "env": {"A": "1"},
        "cwd": "/srv", "port": 8080, "ready": {"http": "/healthy"}, "max_idle_s": 30, "lifetime_s": 1.5,
        "start_timeout_s": 5})"));
    EXPECT_EQ(order.number, 19U);
    const auto* spawn = std::get_if<SpawnOrder>(&order.what);
    ASSERT_NE(spawn, nullptr);
    EXPECT_EQ(lease_of(spawn->key, spawn->token), "@team/KEY:room-1#1763208000001");
    EXPECT_EQ(spawn->deadlines.soft, HolderInstant{123496s});
    EXPECT_EQ(spawn->args, (std::vector<std::string>{"-v", "x y"}));
    EXPECT_EQ(spawn->environment, std::vector<std::string>{"A=1"});
    EXPECT_EQ(spawn->directory, "/srv");
    EXPECT_EQ(spawn->port, 8080);
    EXPECT_EQ(spawn->ready.by, Readiness::By::http);
    EXPECT_EQ(spawn->ready.path, "/healthy");
    EXPECT_EQ(spawn->idle_max, 30s);
    EXPECT_EQ(spawn->lifetime, 1500ms);
    EXPECT_EQ(spawn->start_timeout, 5s);
}

TEST(DroneMessages, what_a_spawn_leaves_out_has_defaults) {
    const Order order = only_order(spawn_text(
        R"({"command": "x", "args": [], "env": {}, "cwd": null, "port": null, "ready": {"tcp": true},
            "max_idle_s": null, "lifetime_s": null})"));
    const auto& spawn = std::get<SpawnOrder>(order.what);
    EXPECT_EQ(spawn.ready.by, Readiness::By::tcp);
    EXPECT_FALSE(spawn.port);
    EXPECT_FALSE(spawn.idle_max);
    EXPECT_EQ(spawn.start_timeout, 60s);
}

TEST(DroneMessages, an_order_that_makes_no_sense_is_unclear_and_the_others_are_not) {
    for (const std::string& bad :
         {spawn_text(R"({"command": ""})"), spawn_text(R"({"command": "x", "port": 70000})"),
          spawn_text(R"({"command": "x", "env": {"A=B": "1"}})"), spawn_text(R"({"command": "x", "args": [1]})"),
          spawn_text(R"({"command": "x\u0000y"})"), spawn_text(R"({"command": "x"})", "../../etc/passwd"),
          std::string(R"({"number": 1, "kind": "dance", "backend": "b-1"})")}) {
        const auto read = read_orders({200, answer_with(bad + R"(, {"number": 20, "kind": "terminate",
            "backend": "b-07", "how": "hard"})")});
        ASSERT_TRUE(read) << bad;
        EXPECT_TRUE(std::holds_alternative<UnclearOrder>(read->orders[0].what)) << bad;
        EXPECT_EQ(std::get<TerminateOrder>(read->orders[1].what).how, How::hard);
    }
}

TEST(DroneMessages, names_are_safe_file_names) {
    EXPECT_TRUE(is_name("b-1f_2.x"));
    for (const char* bad : {"", ".", "..", ".hidden", "a/b", "a b", "a\n"})
        EXPECT_FALSE(is_name(bad)) << bad;
    EXPECT_FALSE(is_name(std::string(129, 'a')));
}

TEST(DroneMessages, an_address_with_colons_gets_brackets) {
    EXPECT_EQ(address_of("10.0.0.7", 80), "10.0.0.7:80");
    EXPECT_EQ(address_of("fd00::7", 80), "[fd00::7]:80");
}

}  // namespace
}  // namespace holdfast::keys::drone
