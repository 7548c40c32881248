#include <algorithm>
#include <string>
#include <vector>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

std::string take_text(const std::string& resource) {
    return R"({"holder":"h","resource":")" + resource + R"(","ttl_ms":60000})";
}

TEST(HttpFairness, answers_a_client_while_others_send_requests_without_end) {
    TestDoor door;
    TestClient client = door.connect();
    constexpr int leases = 1000;
    for (int i = 0; i < leases; ++i)
        ASSERT_EQ(client.ask("POST", "/v1/leases", take_text("r" + std::to_string(i))).status, 201);
    std::string all;  // answers to HEAD are short, so that unread answers do not stop it
    for (int i = 0; i < 600; ++i)
        all += request_text("HEAD", "/v1/leases?limit=1000");
    std::vector<TestClient> hostile;
    for (int i = 0; i < 4; ++i) {
        hostile.push_back(door.connect());
        hostile.back().send(all + request_text("POST", "/v1/leases", take_text("done" + std::to_string(i))));
        EXPECT_EQ(hostile.back().read_head().status, 200) << "it is being served";
    }
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(client.ask("GET", "/health").status, 200);
    const Answer listed = client.ask("GET", "/v1/leases?prefix=done");
    EXPECT_EQ(listed.size("/leases"), 0U) << "nobody had to wait";
}

/// A door at which one holder has many leases and another has one. Notes whose leases are renewed.
struct DoorOfMany {
    static constexpr int many = 3000;

    DoorOfMany() {
        const std::string id = take(client, "mine", "other");
        renewal = request_text("POST", lease_path(id, "heartbeat"), R"({"holder":"other"})");
        door.run([&] {
            for (int i = 0; i < many; ++i)
                door.authority().single_record().acquire("r" + std::to_string(i), "many", lease::Predicate::mutates,
                                                         60s, [](const auto&) {});
            door.authority().events().subscribe([this](const authority::Event& event) {
                if (event.kind == authority::EventKind::renewed) renewed.push_back(event.holder);
            });
        });
    }

    std::vector<std::string> renewed;
    TestDoor door;
    TestClient client = door.connect(), heavy = door.connect();
    std::string renewal;
};

TEST(HttpFairness, renews_for_a_client_between_the_steps_of_a_heartbeat_for_many_leases) {
    DoorOfMany at;
    at.door.run([&] {  // so that both come in one turn
        at.heavy.send(request_text("POST", "/v1/heartbeat", R"({"holder":"many"})"));
        at.client.send(at.renewal);
    });
    EXPECT_EQ(at.client.read().status, 200);
    const Answer all = at.heavy.read();
    EXPECT_EQ(all.number("/renewed"), DoorOfMany::many);
    EXPECT_EQ(all.size("/results"), std::size_t{DoorOfMany::many});
    const auto other = std::find(at.renewed.begin(), at.renewed.end(), "other");
    EXPECT_LT(other - at.renewed.begin(), DoorOfMany::many / 2);
}

TEST(HttpFairness, stops_a_heartbeat_whose_client_has_gone) {
    DoorOfMany at;
    at.heavy.send(request_text("POST", "/v1/heartbeat", R"({"holder":"many"})"));
    at.door.wait_until([&] {
        if (!at.renewed.empty()) at.heavy.reset();
        return !at.renewed.empty();
    });
    at.door.wait_until([&] { return at.door.authority().next_deadline() > at.door.authority().now(); });
    EXPECT_LT(at.renewed.size(), std::size_t{DoorOfMany::many});
    EXPECT_EQ(at.client.ask("POST", "/v1/heartbeat", R"({"holder":"many"})").number("/renewed"), DoorOfMany::many);
}

}  // namespace
}  // namespace holdfast::doors::http
