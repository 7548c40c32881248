#include <gtest/gtest.h>

#include "doors/http/key_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(ConnectRoute, starts_a_backend_and_then_finds_it) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer first = connect(client, "room-1");
    ASSERT_EQ(first.status, 201) << first.body;
    EXPECT_TRUE(first.truth("/spawned"));
    EXPECT_EQ(first.text("/status"), "scheduled");
    EXPECT_EQ(first.text("/key/namespace"), "default");
    EXPECT_EQ(first.text("/key/name"), "room-1");
    EXPECT_EQ(first.text("/drone"), "d1");
    EXPECT_TRUE(first.is_null("/address"));
    EXPECT_EQ(first.text("/status_url"), "/v1/backends/" + first.text("/backend_id") + "/status");
    heartbeat(client, "d1", report(first, "ready", R"(,"address":"10.0.0.7:41234")"));
    const Answer again = client.ask("POST", "/v1/connect", R"({"key":{"name":"room-1"}})");
    EXPECT_EQ(again.status, 200);
    EXPECT_FALSE(again.truth("/spawned"));
    EXPECT_EQ(again.text("/backend_id"), first.text("/backend_id"));
    EXPECT_EQ(again.number("/token"), first.number("/token"));
    EXPECT_EQ(again.text("/address"), "10.0.0.7:41234");
    EXPECT_EQ(again.text("/status"), "ready");
}

TEST(ConnectRoute, says_why_not) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer no_drone = connect(client, "room-1");
    EXPECT_EQ(no_drone.status, 503);
    EXPECT_EQ(no_drone.code(), "no_drone");
    EXPECT_EQ(no_drone.headers.at("retry-after"), "1");
    heartbeat(client, "d1");
    EXPECT_EQ(client.ask("POST", "/v1/connect", R"({"key":{"name":"room-1"}})").code(), "nothing_to_start");
    connect(client, "room-1");
    EXPECT_EQ(client.ask("POST", "/v1/connect", R"({"key":{"name":"room-1","tag":"blue"}})").code(),
              "key_tag_mismatch");
}

TEST(ConnectRoute, starts_nothing_beyond_loopback_unless_that_is_allowed) {
    DoorSetting everywhere;
    everywhere.options.address = "0.0.0.0:0";
    TestDoor door(everywhere);
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer refused = connect(client, "room-1");
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(refused.code(), "spawn_not_allowed");
    EXPECT_EQ(client.ask("POST", "/v1/connect", R"({"key":{"name":"room-1"}})").code(), "nothing_to_start");
    EXPECT_EQ(client.ask("GET", "/v1/backends").size("/backends"), 0U);
    everywhere.options.allow_spawn = true;
    TestDoor allowed(everywhere);
    TestClient other = allowed.connect();
    heartbeat(other, "d1");
    EXPECT_EQ(connect(other, "room-1").status, 201);
}

TEST(ConnectRoute, waits_until_the_backend_is_ready) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient drone = door.connect();
    heartbeat(drone, "d1");
    const Answer known = connect(drone, "room-1");
    client.send(request_text("POST", "/v1/connect", R"({"key":{"name":"room-1"},"wait_s":60})"));
    door.wait_until([&] { return door.controller().counts().connects == 1; });
    heartbeat(drone, "d1", report(known, "ready", R"(,"address":"h:1")"));
    const Answer answer = client.read();
    EXPECT_EQ(answer.text("/address"), "h:1");
}

TEST(ConnectRoute, is_given_up_by_who_goes_away_while_it_waits) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient drone = door.connect();
    heartbeat(drone, "d1");
    client.send(
        request_text("POST", "/v1/connect", R"({"key":{"name":"room-1"},"spawn":{"command":"x"},"wait_s":60})"));
    client.end_sending();
    EXPECT_EQ(client.read().code(), "cancelled");
    EXPECT_EQ(connect(drone, "room-1").status, 200) << "what was started stays";
}

TEST(ConnectRoute, takes_the_key_for_as_long_as_was_asked_and_the_policy_allows) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const auto connect_for = [&](const std::string& name, const std::string& ttl_ms) {
        return client.ask("POST", "/v1/connect",
                          R"({"key":{"name":")" + name + R"("},"spawn":{"command":"x"},"ttl_ms":)" + ttl_ms + "}");
    };
    EXPECT_EQ(connect_for("r", "12000").status, 201);
    const Answer orders = client.ask("POST", "/v1/drones/d1/orders", R"({"life":"life-1","clock_ms":5000})");
    EXPECT_EQ(orders.number("/orders/0/ttl_ms"), 12'000);
    EXPECT_EQ(orders.number("/orders/0/renew_at_ms"), 11'000);
    EXPECT_EQ(orders.number("/orders/0/hard_terminate_at_ms"), 15'000);
    client.ask("PATCH", "/v1/policy", R"({"ttl_min_ms":1000})");
    const Answer too_short = connect_for("s", "999");
    EXPECT_EQ(too_short.status, 422) << too_short.body;
    EXPECT_EQ(too_short.code(), "ttl_too_short");
    EXPECT_EQ(connect_for("s", "null").status, 400);
}

TEST(ConnectRoute, takes_everything_that_a_drone_can_be_told) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer connected = client.ask("POST", "/v1/connect",
                                        R"({"key":{"name":"r","namespace":"team","tag":"t"},"user":"ann","spawn":{
        "command":"/bin/room","args":["-v","a\nb"],"env":{"A":"1","B":""},"cwd":"/tmp","pool":"default","port":8080,
        "ready":{"http":"/up"},"max_idle_s":60,"lifetime_s":null,"start_timeout_s":5,"id":"b-mine"}})");
    ASSERT_EQ(connected.status, 201) << connected.body;
    EXPECT_EQ(connected.text("/backend_id"), "b-mine");
    const Answer orders = client.ask("POST", "/v1/drones/d1/orders", R"({"life":"life-1","clock_ms":5000})");
    ASSERT_EQ(orders.size("/orders"), 1U) << orders.body;
    EXPECT_EQ(orders.text("/orders/0/kind"), "spawn");
    EXPECT_EQ(orders.text("/orders/0/backend"), "b-mine");
    EXPECT_EQ(orders.text("/orders/0/key/namespace"), "team");
    EXPECT_EQ(orders.text("/orders/0/key/tag"), "t");
    EXPECT_EQ(orders.number("/orders/0/token"), connected.number("/token"));
    EXPECT_EQ(orders.number("/orders/0/ttl_ms"), 60'000);
    EXPECT_EQ(orders.number("/orders/0/renew_at_ms"), 35'000);
    EXPECT_EQ(orders.number("/orders/0/soft_terminate_at_ms"), 45'000);
    EXPECT_EQ(orders.number("/orders/0/hard_terminate_at_ms"), 55'000);
    EXPECT_EQ(orders.text("/orders/0/spawn/command"), "/bin/room");
    EXPECT_EQ(orders.text("/orders/0/spawn/args/1"), "a\nb");
    EXPECT_EQ(orders.text("/orders/0/spawn/env/A"), "1");
    EXPECT_EQ(orders.text("/orders/0/spawn/env/B"), "");
    EXPECT_EQ(orders.text("/orders/0/spawn/cwd"), "/tmp");
    EXPECT_EQ(orders.number("/orders/0/spawn/port"), 8080);
    EXPECT_EQ(orders.text("/orders/0/spawn/ready/http"), "/up");
    EXPECT_EQ(orders.number("/orders/0/spawn/max_idle_s"), 60);
    EXPECT_TRUE(orders.is_null("/orders/0/spawn/lifetime_s"));
    EXPECT_EQ(orders.number("/orders/0/spawn/start_timeout_s"), 5);
    EXPECT_EQ(client.ask("GET", "/v1/backends/b-mine").text("/backend/user"), "ann");
}

TEST(ConnectRoute, refuses_what_makes_no_sense_by_name) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const std::string long_text(70'000, 'x');
    for (const std::string& body : {
             std::string(R"({"key":{"name":""},"spawn":{"command":"x"}})"),
             std::string(R"({"key":{"name":7},"spawn":{"command":"x"}})"),
             std::string(R"({"key":{"name":"r","namespace":"a b"},"spawn":{"command":"x"}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","args":[1]}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","args":["a\u0000b"]}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","env":{"A=B":"1"}}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","env":{"A":1}}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","port":65536}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","ready":{}}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","ready":{"tcp":true,"started":true}}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","ready":{"http":"up"}}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","id":"../x"}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","pool":""}})"),
             std::string(R"({"key":{"name":"r"},"spawn":{"command":"x","start_timeout_s":0}})"),
             std::string(R"({"key":{"name":"r"},"wait_s":301})"),
             R"({"key":{"name":"r"},"spawn":{"command":"x","args":[")" + long_text + R"("]}})",
         })
        EXPECT_EQ(client.ask("POST", "/v1/connect", body).code(), "invalid_argument") << body.substr(0, 120);
    EXPECT_EQ(client.ask("POST", "/v1/connect", R"({"key":{"name":"r","color":1}})").code(), "unknown_field");
    EXPECT_EQ(client.ask("POST", "/v1/connect", R"({"spawn":{"command":"x","ready":{"udp":true}}})").code(),
              "unknown_field");
    EXPECT_EQ(client.ask("GET", "/v1/keys").size("/keys"), 0U);
}

TEST(KeyRoutes, list_the_keys_that_are_held) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer connected = connect(client, "room-1");
    take(client, "FILE:/a", "alice");
    door.advance(10s);
    const Answer keys = client.ask("GET", "/v1/keys");
    ASSERT_EQ(keys.size("/keys"), 1U);
    EXPECT_EQ(keys.text("/keys/0/key/name"), "room-1");
    EXPECT_EQ(keys.text("/keys/0/backend"), connected.text("/backend_id"));
    EXPECT_EQ(keys.text("/keys/0/drone"), "d1");
    EXPECT_EQ(keys.number("/keys/0/token"), connected.number("/token"));
    EXPECT_EQ(keys.number("/keys/0/expires_in_ms"), 50'000);
    EXPECT_TRUE(keys.truth("/keys/0/renewable"));
    EXPECT_TRUE(keys.is_null("/next"));
    EXPECT_EQ(client.ask("GET", "/v1/keys?namespace=team").size("/keys"), 0U);
}

TEST(KeyRoutes, bar_a_key_from_renewal) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer connected = connect(client, "a/b");
    EXPECT_EQ(client.ask("POST", "/v1/keys/a/b/bar").code(), "unknown_key") << "the key b in the namespace a";
    const Answer barred = client.ask("POST", "/v1/keys/default/a/b/bar");
    EXPECT_EQ(barred.status, 200) << barred.body;
    EXPECT_FALSE(barred.truth("/renewable"));
    const Answer renewed =
        client.ask("POST", "/v1/heartbeat",
                   R"({"holder":"d1","leases":["KEY:a/b#)" + std::to_string(connected.number("/token")) + R"("]})");
    EXPECT_EQ(renewed.text("/results/0/error/code"), "renewal_barred");
    EXPECT_EQ(client.ask("POST", "/v1/keys/nobody/bar").code(), "unknown_key");
    EXPECT_EQ(client.ask("GET", "/v1/audit").size("/audit"), 1U);
}

TEST(BackendRoutes, list_and_show_backends) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer one = connect(client, "room-1");
    connect(client, "room-2");
    heartbeat(client, "d1", report(one, "ready", R"(,"address":"h:1")"));
    const Answer listed = client.ask("GET", "/v1/backends");
    EXPECT_EQ(listed.size("/backends"), 2U);
    EXPECT_EQ(listed.size("/unreported"), 0U);
    EXPECT_FALSE(listed.truth("/complete")) << "the server was just started";
    EXPECT_EQ(client.ask("GET", "/v1/backends?state=ready").text("/backends/0/id"), one.text("/backend_id"));
    EXPECT_EQ(client.ask("GET", "/v1/backends?key=room-1&drone=d1").size("/backends"), 1U);
    EXPECT_EQ(client.ask("GET", "/v1/backends?drone=d2").size("/backends"), 0U);
    const Answer page = client.ask("GET", "/v1/backends?limit=1");
    EXPECT_EQ(client.ask("GET", "/v1/backends?limit=1&after=" + page.text("/next")).size("/backends"), 1U);
    EXPECT_EQ(client.ask("GET", "/v1/backends?state=happy").code(), "invalid_argument");
    const Answer shown = client.ask("GET", "/v1/backends/" + one.text("/backend_id"));
    EXPECT_EQ(shown.text("/backend/address"), "h:1");
    EXPECT_TRUE(shown.is_null("/backend/reason"));
    EXPECT_FALSE(shown.has("/backend/drone_heard_ms_ago"));
    door.advance(45s);
    EXPECT_EQ(client.ask("GET", "/v1/backends/" + one.text("/backend_id")).number("/backend/drone_heard_ms_ago"),
              45'000);
    EXPECT_TRUE(client.ask("GET", "/v1/backends").truth("/complete"));
    EXPECT_EQ(client.ask("GET", "/v1/backends/b-x").code(), "unknown_backend");
}

TEST(BackendRoutes, stream_how_a_backend_is_until_it_has_ended) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient watcher = door.connect();
    heartbeat(client, "d1");
    const Answer one = connect(client, "room-1");
    watcher.send(request_text("GET", one.text("/status_url")));
    EXPECT_EQ(watcher.read_head().headers.at("content-type"), "text/event-stream");
    StreamEvent event = read_real_event(watcher);
    EXPECT_EQ(event.type, "status");
    EXPECT_NE(event.data.find(R"("state":"scheduled")"), std::string::npos) << event.data;
    heartbeat(client, "d1", report(one, "ready"));
    EXPECT_NE(read_real_event(watcher).data.find(R"("state":"ready")"), std::string::npos);
    heartbeat(client, "d1",
              R"(,"backends":[{"id":")" + one.text("/backend_id") + R"(","key":{"name":"room-1"},"token":)" +
                  std::to_string(one.number("/token")) + R"(,"state":"terminated","reason":"exited","exit_code":-9}])");
    event = read_real_event(watcher);
    EXPECT_NE(event.data.find(R"("reason":"exited","exit_code":-9)"), std::string::npos) << event.data;
    EXPECT_EQ(watcher.read_to_end(), "") << "and that is the end of it";
    TestClient late = door.connect();
    late.send(request_text("GET", one.text("/status_url")));
    const std::string all = late.read_to_end();
    EXPECT_NE(all.find(R"("state":"terminated")"), std::string::npos) << "the present state, and the end";
    EXPECT_EQ(client.ask("GET", "/v1/backends/b-x/status").code(), "unknown_backend");
}

TEST(BackendRoutes, forget_a_watcher_that_goes_away) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer one = connect(client, "room-1");
    {
        TestClient watcher = door.connect();
        watcher.send(request_text("GET", one.text("/status_url")));
        read_real_event(watcher);
    }
    heartbeat(client, "d1", report(one, "loading"));
    EXPECT_EQ(client.ask("GET", "/v1/backends/" + one.text("/backend_id")).text("/backend/state"), "loading");
}

TEST(BackendRoutes, tell_a_drone_to_end_a_backend) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer one = connect(client, "room-1");
    const std::string orders = R"({"life":"life-1","clock_ms":5000})";
    client.ask("POST", "/v1/drones/d1/orders", orders);
    heartbeat(client, "d1", report(one, "ready"));
    const std::string path = "/v1/backends/" + one.text("/backend_id") + "/terminate";
    EXPECT_EQ(client.ask("POST", path, R"({"how":"hard"})").text("/backend/state"), "ready");
    const Answer told = client.ask("POST", "/v1/drones/d1/orders", orders);
    EXPECT_EQ(told.text("/orders/1/kind"), "terminate");
    EXPECT_EQ(told.text("/orders/1/how"), "hard");
    EXPECT_EQ(client.ask("POST", path, R"({"how":"gently"})").code(), "invalid_argument");
    EXPECT_EQ(client.ask("POST", "/v1/backends/b-x/terminate").code(), "unknown_backend");
}

TEST(BackendRoutes, say_later_and_not_never_while_drones_may_have_more_to_tell) {  // K5
    DoorSetting setting;
    setting.recovering = 60s;
    TestDoor door(setting);
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/v1/backends/b-x").code(), "recovering");
    EXPECT_EQ(client.ask("GET", "/v1/backends/b-x/status").code(), "recovering");
    EXPECT_EQ(client.ask("POST", "/v1/backends/b-x/terminate").code(), "recovering");
}

TEST(KeyRoutes, that_are_generic_never_free_a_key_whose_backend_may_run) {  // K6, R2, R7
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    const Answer first = connect(client, "room-1");
    heartbeat(client, "d1", report(first, "ready", R"(,"address":"h:1")"));
    const std::string lease = lease_path("KEY:room-1#" + std::to_string(first.number("/token")));
    const auto taken = [&] {
        const Answer again = connect(client, "room-1");
        return again.number("/token") == first.number("/token") && !again.truth("/spawned");
    };

    const Answer released = client.ask("DELETE", lease + "?holder=d1&session=" + first.text("/backend_id"));
    EXPECT_EQ(released.status, 403);
    EXPECT_EQ(released.code(), "service_lease");
    EXPECT_NE(released.text("/error/message").find("backend terminate"), std::string::npos) << released.body;
    EXPECT_TRUE(taken());
    const Answer beside = client.ask(
        "POST", "/v1/leases",
        R"({"holder":"d1","session":")" + first.text("/backend_id") + R"(","intents":[{"resource":"KEY:room-1"}]})");
    EXPECT_EQ(beside.code(), "service_lease");
    client.ask("PUT", "/v1/agents/d1", "{}");
    EXPECT_EQ(client.ask("POST", "/v1/agents/d1/restarting", "{}").number("/reserved"), 0);

    const Answer revoked = client.ask("POST", lease + "/revoke", "{}");
    EXPECT_EQ(revoked.status, 200) << revoked.body;
    EXPECT_EQ(revoked.text("/lease/state"), "ACTIVE");
    EXPECT_FALSE(revoked.truth("/lease/renewable"));
    EXPECT_TRUE(taken()) << "until its drone says that the backend is dead";
    const Answer orders =
        client.ask("POST", "/v1/drones/d1/orders", R"({"life":"life-1","clock_ms":1000,"done":[],"wait_ms":0})");
    EXPECT_NE(orders.body.find(R"("kind":"terminate")"), std::string::npos) << orders.body;
    heartbeat(client, "d1", report(first, "terminated"));
    EXPECT_TRUE(connect(client, "room-1").truth("/spawned"));
}

}  // namespace
}  // namespace holdfast::doors::http
