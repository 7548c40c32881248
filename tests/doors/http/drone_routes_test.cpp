#include <gtest/gtest.h>

#include "doors/http/key_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(DroneRoutes, register_a_drone_by_its_heartbeat) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer first = heartbeat(client, "d1");
    ASSERT_EQ(first.status, 200) << first.body;
    EXPECT_EQ(first.text("/controller"), "life-of-the-test");
    EXPECT_TRUE(first.truth("/send_all"));
    EXPECT_FALSE(first.truth("/drain"));
    EXPECT_EQ(first.number("/heartbeat_in_ms"), 7000);
    EXPECT_EQ(first.size("/reasserted"), 0U);
    door.advance(3s);
    const Answer shown = client.ask("GET", "/v1/drones/d1");
    EXPECT_EQ(shown.text("/drone/pool"), "default");
    EXPECT_EQ(shown.text("/drone/address"), "10.0.0.7");
    EXPECT_EQ(shown.number("/drone/capacity"), 10);
    EXPECT_EQ(shown.number("/drone/backends"), 0);
    EXPECT_TRUE(shown.truth("/drone/healthy"));
    EXPECT_EQ(shown.number("/drone/heard_ms_ago"), 3000);
    heartbeat(client, "d2");
    EXPECT_EQ(client.ask("GET", "/v1/drones").size("/drones"), 2U);
    const Answer page = client.ask("GET", "/v1/drones?limit=1");
    EXPECT_EQ(page.text("/next"), "d1");
    EXPECT_EQ(client.ask("GET", "/v1/drones?after=d1").text("/drones/0/id"), "d2");
    EXPECT_EQ(client.ask("GET", "/v1/drones/d3").code(), "unknown_drone");
}

TEST(DroneRoutes, show_nobody_the_life_with_which_a_drone_speaks_for_its_keys) {  // K6
    TestDoor door;
    TestClient client = door.connect();
    const std::string secret = "5ec4e75ec4e75ec4e75ec4e75ec4e75e";
    heartbeat(client, "d1", {}, secret);
    const Answer connected = connect(client, "room-1");
    ASSERT_EQ(connected.status, 201) << connected.body;
    for (const char* target : {"/v1/drones", "/v1/drones/d1", "/v1/leases", "/v1/keys", "/v1/backends"}) {
        const Answer shown = client.ask("GET", target);
        EXPECT_EQ(shown.status, 200) << target;
        EXPECT_EQ(shown.body.find(secret), std::string::npos) << target;
    }
    const Answer drone = client.ask("GET", "/v1/drones/d1");
    const Answer forged = heartbeat(client, "d1", report(connected, "terminated"), drone.text("/drone/life"));
    EXPECT_EQ(forged.code(), "drone_alive");
    EXPECT_EQ(connect(client, "room-1").number("/token"), connected.number("/token")) << "the key is still taken";
}

TEST(DroneRoutes, take_a_drone_for_dead_whose_connection_ends_also_between_two_calls) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient drone = door.connect();
    heartbeat(drone, "d1");
    const Answer connected = connect(client, "room-1");
    const std::string orders = R"({"life":"life-1","clock_ms":5000})";
    ASSERT_EQ(drone.ask("POST", "/v1/drones/d1/orders", orders).size("/orders"), 1U);
    heartbeat(drone, "d1", report(connected, "ready", R"(,"address":"h:1")"));
    const std::string target = "/v1/backends/" + connected.text("/backend_id");
    EXPECT_EQ(client.ask("GET", target).text("/backend/address"), "h:1");
    drone.close();
    door.wait_until([&] { return !door.controller().drone("d1")->healthy; });
    const Answer shown = client.ask("GET", target);
    EXPECT_EQ(shown.text("/backend/state"), "ready");
    EXPECT_TRUE(shown.is_null("/backend/address")) << shown.body;
    EXPECT_EQ(shown.number("/backend/drone_heard_ms_ago"), 0);
    EXPECT_EQ(client.ask("POST", "/v1/connect", R"({"key":{"name":"room-1"}})").code(), "no_drone");
    TestClient back = door.connect();
    back.ask("POST", "/v1/drones/d1/orders", orders);
    EXPECT_EQ(client.ask("GET", target).text("/backend/address"), "h:1");
}

TEST(DroneRoutes, refuse_an_earlier_life) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1", "", "one");
    EXPECT_EQ(heartbeat(client, "d1", "", "two").code(), "drone_alive") << "it does not know that the other is over";
    EXPECT_EQ(heartbeat(client, "d1", R"(,"earlier_lives":["zero","one"])", "two").status, 200);
    const Answer stale = heartbeat(client, "d1", "", "one");
    EXPECT_EQ(stale.status, 409);
    EXPECT_EQ(stale.code(), "stale_drone");
    EXPECT_EQ(client.ask("POST", "/v1/drones/d1/orders", R"({"life":"one","clock_ms":1})").code(), "unknown_drone");
}

TEST(DroneRoutes, let_a_drone_wait_for_orders) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient drone = door.connect();
    heartbeat(client, "d1");
    drone.send(request_text("POST", "/v1/drones/d1/orders", R"({"life":"life-1","clock_ms":5000,"wait_ms":7000})"));
    door.wait_until([&] { return door.controller().counts().listeners == 1; });
    connect(client, "room-1");
    const Answer orders = drone.read();
    EXPECT_EQ(orders.text("/controller"), "life-of-the-test");
    ASSERT_EQ(orders.size("/orders"), 1U);
    const Answer done = drone.ask("POST", "/v1/drones/d1/orders",
                                  R"({"life":"life-1","clock_ms":5000,"controller":"life-of-the-test","done":[)" +
                                      std::to_string(orders.number("/orders/0/number")) + "]}");
    EXPECT_EQ(done.size("/orders"), 0U);
}

TEST(DroneRoutes, drain_and_forget) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    EXPECT_TRUE(client.ask("POST", "/v1/drones/d1/drain", R"({"draining":true})").truth("/drone/draining"));
    EXPECT_TRUE(heartbeat(client, "d1").truth("/drain"));
    EXPECT_EQ(connect(client, "room-1").code(), "no_drone");
    EXPECT_FALSE(client.ask("POST", "/v1/drones/d1/drain", R"({"draining":false})").truth("/drone/draining"));
    EXPECT_EQ(client.ask("POST", "/v1/drones/d2/drain").code(), "unknown_drone");
    EXPECT_EQ(client.ask("DELETE", "/v1/drones/d1").code(), "drone_alive");
    door.advance(45s);
    EXPECT_TRUE(client.ask("DELETE", "/v1/drones/d1").truth("/forgotten"));
    EXPECT_EQ(client.ask("DELETE", "/v1/drones/d1").code(), "unknown_drone");
}

TEST(DroneRoutes, refuse_what_no_drone_would_say) {
    TestDoor door;
    TestClient client = door.connect();
    const auto code = [&](const std::string& body, const std::string& verb = "heartbeat") {
        return client.ask("POST", "/v1/drones/d1/" + verb, body).code();
    };
    const auto reported = [](const std::string& backend) {
        return R"({"life":"l","clock_ms":1,"backends":[)" + backend + "]}";
    };
    for (const std::string& body :
         {std::string(R"({"clock_ms":1})"), std::string(R"({"life":"l"})"),
          std::string(R"({"life":"../l","clock_ms":1})"), std::string(R"({"life":"l","clock_ms":-1})"),
          std::string(R"({"life":"l","clock_ms":1,"capacity":501})"),
          std::string(R"({"life":"l","clock_ms":1,"earlier_lives":[7]})"),
          std::string(R"({"life":"l","clock_ms":1,"earlier_lives":["../l"]})"),
          std::string(R"({"life":"l","clock_ms":1,"reassert":{"controller":7}})"), reported("7"), reported("{}"),
          reported(R"({"id":"b","key":{"name":"r"},"token":0,"state":"ready"})"),
          reported(R"({"id":"b","key":{"name":"r"},"token":1,"state":"Ready"})"),
          reported(R"({"id":"b","key":{"name":"r"},"token":1,"state":"ready","reason":"bored"})"),
          reported(R"({"id":"b","token":1,"state":"ready"})"),
          reported(R"({"id":"b/c","key":{"name":"r"},"token":1,"state":"ready"})")})
        EXPECT_EQ(code(body), "invalid_argument") << body;
    EXPECT_EQ(code(R"({"life":"l","clock_ms":1,"mood":"good"})"), "unknown_field");
    EXPECT_EQ(code(R"({"life":"l","clock_ms":1,"done":["x"]})", "orders"), "invalid_argument");
    EXPECT_EQ(client.ask("POST", "/v1/drones/a%2Fb/heartbeat", R"({"life":"l","clock_ms":1})").code(),
              "invalid_argument");
    EXPECT_EQ(client.ask("GET", "/v1/drones").size("/drones"), 0U);
}

TEST(DroneRoutes, take_keys_back_from_drones_while_the_server_recovers) {
    DoorSetting setting;
    setting.recovering = 60s;
    setting.tokens_issued = 1000;
    TestDoor door(setting);
    TestClient client = door.connect();
    const std::string backend =
        R"(,"backends":[{"id":"b-1","key":{"namespace":"default","name":"room-1","tag":"t"},"token":900,"state":"ready",)"
        R"("address":"h:1","ttl_ms":60000,"holds_for_ms":20000}])";
    EXPECT_EQ(heartbeat(client, "d1", backend).size("/reasserted"), 0U) << "it did not ask";
    EXPECT_EQ(
        client.ask("POST", "/v1/connect", R"({"key":{"name":"room-1","tag":"t"},"spawn":{"command":"x"}})").code(),
        "recovering");
    const std::string reassert = R"(,"reassert":{"controller":"life-of-the-test"})";
    EXPECT_EQ(heartbeat(client, "d1", backend + reassert).text("/reasserted/0"), "b-1");
    const Answer connected = client.ask("POST", "/v1/connect", R"({"key":{"name":"room-1","tag":"t"}})");
    EXPECT_EQ(connected.text("/address"), "h:1");
    EXPECT_EQ(connected.number("/token"), 900);
    const Answer renewed = client.ask("POST", "/v1/heartbeat", R"({"holder":"d1","leases":["KEY:room-1#900"]})");
    EXPECT_EQ(renewed.number("/renewed"), 1);
}

TEST(DroneRoutes, show_in_the_metrics_how_many_there_are) {
    TestDoor door;
    TestClient client = door.connect();
    heartbeat(client, "d1");
    connect(client, "room-1");
    const std::string metrics = door.metrics_text();
    EXPECT_NE(metrics.find("holdfast_drones 1"), std::string::npos);
    EXPECT_NE(metrics.find(R"(holdfast_backends{state="scheduled"} 1)"), std::string::npos) << metrics;
}

}  // namespace
}  // namespace holdfast::doors::http
