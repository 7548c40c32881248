#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

/// An agent that restarts, as it is seen through the door (R5).
class RestartRoutes : public testing::Test {
 protected:
    TestDoor door;
    TestClient client = door.connect();
    std::string id;

    void SetUp() override {
        register_agent(client, "alice", 1);
        id = take(client, "r", "alice", R"(,"ttl_ms":10000)");
    }
    Answer declare(const char* body = "") { return client.ask("POST", "/v1/agents/alice/restarting", body); }
    Answer verify(const char* body) { return client.ask("POST", "/v1/verify", body); }
};

TEST_F(RestartRoutes, say_what_is_kept_and_for_how_long) {
    const Answer declared = declare(R"({"epoch":1})");
    ASSERT_EQ(declared.status, 200) << declared.body;
    EXPECT_EQ(declared.text("/agent/id"), "alice");
    EXPECT_TRUE(declared.truth("/agent/restarting"));
    EXPECT_EQ(declared.size("/agent"), 5U);
    EXPECT_EQ(declared.number("/reserved"), 1);
    EXPECT_EQ(declared.number("/grace_ms"), 15'000);
    EXPECT_TRUE(client.ask("GET", "/v1/agents/alice").truth("/agent/restarting"));
    const Answer unknown = client.ask("POST", "/v1/agents/nobody/restarting");
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(unknown.code(), "unknown_agent");
}

TEST_F(RestartRoutes, grant_nothing_more_to_this_life) {
    TestClient waiting = door.connect();
    take(client, "other", "bob");
    waiting.send(acquire_request("alice", "other", 60'000));
    door.wait_for_waiters(1);
    declare();
    for (const Answer& answer : {waiting.read(), ask_for(client, "q", "alice")}) {
        EXPECT_EQ(answer.status, 409) << answer.body;
        EXPECT_EQ(answer.text("/verdict"), "REFUSED");
        EXPECT_EQ(answer.code(), "agent_restarting");
    }
}

TEST_F(RestartRoutes, keep_what_has_expired_for_the_next_life_and_nobody_else) {
    declare();
    door.advance(10s);
    const Answer busy = ask_for(client, "r", "bob");
    EXPECT_EQ(busy.status, 409);
    EXPECT_EQ(busy.text("/verdict"), "WAIT");
    EXPECT_EQ(busy.text("/conflicts/0/holder"), "alice");
    EXPECT_TRUE(busy.truth("/conflicts/0/reserved"));
    EXPECT_FALSE(busy.truth("/conflicts/0/waiting"));
    EXPECT_EQ(busy.number("/conflicts/0/expires_in_ms"), 15'000);
    EXPECT_EQ(busy.number("/retry_in_ms"), 15'000);
    const Answer renewal = client.ask("POST", lease_path(id, "heartbeat"), R"({"holder":"alice"})");
    EXPECT_EQ(renewal.code(), "lease_expired") << "it is kept, but not usable";
}

TEST_F(RestartRoutes, show_a_lease_in_grace) {
    declare();
    door.advance(12s);
    const Answer lease = client.ask("GET", lease_path(id));
    ASSERT_EQ(lease.status, 200) << lease.body;
    EXPECT_EQ(lease.text("/lease/state"), "GRACE");
    EXPECT_EQ(lease.text("/lease/holder"), "alice");
    EXPECT_EQ(lease.number("/lease/ended_ago_ms"), 2000);
    EXPECT_EQ(lease.number("/lease/reserved_for_ms"), 13'000);
    const std::string by_name = R"({"leases":[")" + id + R"("]})";
    for (const Answer& verified : {verify(by_name.c_str()), verify(R"({"holder":"alice","epoch":2})")}) {
        ASSERT_EQ(verified.size("/results"), 1U) << verified.body;
        EXPECT_EQ(verified.text("/results/0/id"), id);
        EXPECT_EQ(verified.text("/results/0/state"), "GRACE");
        EXPECT_EQ(verified.text("/results/0/holder"), "alice");
        EXPECT_EQ(verified.number("/results/0/reserved_for_ms"), 13'000);
        EXPECT_FALSE(verified.has("/results/0/expires_in_ms"));
        EXPECT_EQ(verified.size("/results/0/current"), 0U);
    }
}

TEST_F(RestartRoutes, let_the_next_life_resume_with_a_new_token) {
    declare();
    door.advance(24'999ms);
    EXPECT_EQ(verify(R"({"holder":"alice","epoch":2})").text("/results/0/state"), "GRACE");
    const Answer resumed = ask_for(client, "r", "alice", R"(,"epoch":2)");
    ASSERT_EQ(resumed.status, 201) << resumed.body;
    EXPECT_NE(resumed.text("/leases/0/id"), id);
    EXPECT_FALSE(client.ask("GET", "/v1/agents/alice").truth("/agent/restarting"));
}

TEST_F(RestartRoutes, keep_nothing_past_the_grace) {
    declare();
    door.advance(25s);
    EXPECT_EQ(client.ask("GET", lease_path(id)).text("/lease/state"), "EXPIRED");
    EXPECT_FALSE(client.ask("GET", lease_path(id)).has("/lease/reserved_for_ms"));
    EXPECT_EQ(verify(R"({"holder":"alice","epoch":2})").size("/results"), 0U);
    take(client, "r", "bob");
}

}  // namespace
}  // namespace holdfast::doors::http
