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

}  // namespace
}  // namespace holdfast::doors::http
