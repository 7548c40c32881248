#include "keys/drone/messages.h"

#include <gtest/gtest.h>

namespace holdfast::keys::drone {
namespace {

TEST(DroneMessages, go_to_the_routes_of_their_drone) {
    const client::HttpRequest heartbeat = heartbeat_request({.drone = "d 1", .life = "abc"});
    EXPECT_EQ(heartbeat.method, "POST");
    EXPECT_EQ(heartbeat.target, "/v1/drones/d%201/heartbeat");
    EXPECT_TRUE(heartbeat.body.starts_with(R"({"life":"abc")")) << heartbeat.body;
    EXPECT_EQ(orders_request({.drone = "d1"}).target, "/v1/drones/d1/orders");
    const client::HttpRequest renewal =
        renew_request("d1", {.clock = HolderInstant{1500ms}, .leases = {"KEY:a#1", "KEY:b#2"}});
    EXPECT_EQ(renewal.target, "/v1/heartbeat");
    EXPECT_EQ(renewal.body, R"({"holder":"d1","leases":["KEY:a#1","KEY:b#2"],"client_time_ms":1500})");
}

TEST(DroneMessages, are_answered) {
    const auto heartbeat = read_heartbeat({200, R"({"controller": "c1", "send_all": true})"});
    ASSERT_TRUE(heartbeat);
    EXPECT_TRUE(heartbeat->send_all);
    const auto orders = read_orders({200, R"({"controller": "c1", "orders": []})"});
    ASSERT_TRUE(orders);
    EXPECT_EQ(orders->controller, "c1");
}

TEST(DroneMessages, whose_answer_makes_no_sense_have_none) {
    EXPECT_EQ(read_heartbeat({200, "{}"}).error().code, Code::bad_answer);
    EXPECT_EQ(read_heartbeat({409, R"({"error": {"code": "stale_drone", "message": "m"}})"}).error().code,
              Code::stale_drone);
    EXPECT_FALSE(read_orders({200, "nonsense"}));
    EXPECT_FALSE(read_orders({200, R"({"controller": "c1"})"}));
}

}  // namespace
}  // namespace holdfast::keys::drone
