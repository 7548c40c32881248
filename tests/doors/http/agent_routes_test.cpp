#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

class AgentRoutes : public testing::Test {
 protected:
    TestDoor door;
    TestClient client = door.connect();
    TestClient waiting = door.connect();

    void start_waiting(const std::string& resource, const std::string& holder, std::size_t waiters = 1) {
        waiting.send(acquire_request(holder, resource, 60'000));
        door.wait_for_waiters(waiters);
    }
    static void expect_refused(const Answer& answer, int status, const char* code) {
        EXPECT_EQ(answer.status, status) << answer.body;
        EXPECT_EQ(answer.code(), code);
    }
};

TEST_F(AgentRoutes, register_an_agent_once_and_then_bring_it_up_to_date) {
    const Answer created = client.ask("PUT", "/v1/agents/alice", R"({"priority":-5,"epoch":3})");
    ASSERT_EQ(created.status, 201) << created.body;
    EXPECT_EQ(created.text("/agent/id"), "alice");
    EXPECT_EQ(created.number("/agent/priority"), -5);
    EXPECT_EQ(created.number("/agent/epoch"), 3);
    EXPECT_FALSE(created.truth("/agent/restarting"));
    EXPECT_EQ(created.number("/agent/deaths"), 0);
    EXPECT_EQ(created.number("/agent/leases"), 0);
    EXPECT_EQ(created.size("/agent/waiting"), 0U);
    EXPECT_EQ(created.size("/agent"), 7U);
    const Answer kept = client.ask("PUT", "/v1/agents/alice");
    EXPECT_EQ(kept.status, 200);
    EXPECT_EQ(kept.body, created.body) << "what is left out stays";
    const Answer changed = client.ask("PUT", "/v1/agents/alice", R"({"priority":9,"epoch":4})");
    EXPECT_EQ(changed.status, 200);
    EXPECT_EQ(changed.number("/agent/priority"), 9);
    EXPECT_EQ(changed.number("/agent/epoch"), 4);
    EXPECT_EQ(client.ask("GET", "/v1/agents/alice").body, changed.body);
}

TEST_F(AgentRoutes, make_an_agent_that_names_no_priority_as_old_as_the_moment) {
    door.advance(5s);
    const Answer created = client.ask("PUT", "/v1/agents/alice", "{}");
    EXPECT_EQ(created.number("/agent/priority"), 1'763'208'005'000);
    EXPECT_EQ(created.number("/agent/epoch"), 1);
}

TEST_F(AgentRoutes, take_any_id_percent_encoded) {
    for (const std::string id : {"with%2Fslash%20%23", "restarting", "a%2Frestarting", "gr%C3%B6%C3%9Fe", "a/b"}) {
        EXPECT_EQ(client.ask("PUT", "/v1/agents/" + id).status, 201) << id;
        EXPECT_EQ(client.ask("GET", "/v1/agents/" + id).status, 200) << id;
        EXPECT_EQ(client.ask("POST", "/v1/agents/" + id + "/restarting").status, 200) << id;
    }
    EXPECT_EQ(client.ask("GET", "/v1/agents/a%2Frestarting").text("/agent/id"), "a/restarting");
    for (const std::string& bad : {std::string("a%00b"), std::string("%FF"), std::string(257, 'x')}) {
        for (const char* method : {"PUT", "GET", "DELETE"})
            expect_refused(client.ask(method, "/v1/agents/" + bad), 400, "invalid_argument");
        expect_refused(client.ask("POST", "/v1/agents/" + bad + "/restarting"), 400, "invalid_argument");
    }
}

TEST_F(AgentRoutes, list_agents_in_pages_by_id) {
    for (const char* id : {"c", "a", "b"})
        register_agent(client, id, 7);
    const Answer first = client.ask("GET", "/v1/agents?limit=2");
    EXPECT_EQ(first.text("/agents/0/id"), "a");
    EXPECT_EQ(first.number("/agents/0/priority"), 7);
    EXPECT_EQ(first.number("/agents/0/epoch"), 1);
    EXPECT_FALSE(first.truth("/agents/0/restarting"));
    EXPECT_EQ(first.number("/agents/0/deaths"), 0);
    EXPECT_EQ(first.size("/agents/0"), 5U);
    EXPECT_EQ(first.text("/next"), "b");
    const Answer second = client.ask("GET", "/v1/agents?limit=2&after=b");
    EXPECT_EQ(second.size("/agents"), 1U);
    EXPECT_EQ(second.text("/agents/0/id"), "c");
    EXPECT_TRUE(second.is_null("/next"));
    EXPECT_TRUE(client.ask("GET", "/v1/agents?limit=3").is_null("/next"));
}

TEST_F(AgentRoutes, forget_an_agent_that_has_nothing) {
    expect_refused(client.ask("GET", "/v1/agents/alice"), 404, "unknown_agent");
    EXPECT_FALSE(client.ask("DELETE", "/v1/agents/alice").truth("/forgotten"));
    register_agent(client, "alice", 1);
    const std::string id = take(client, "r", "alice");
    expect_refused(client.ask("DELETE", "/v1/agents/alice"), 409, "agent_busy");
    client.ask("DELETE", lease_path(id) + "?holder=alice");
    const Answer forgotten = client.ask("DELETE", "/v1/agents/alice");
    EXPECT_EQ(forgotten.status, 200);
    EXPECT_EQ(forgotten.text("/id"), "alice");
    EXPECT_TRUE(forgotten.truth("/forgotten"));
    expect_refused(client.ask("GET", "/v1/agents/alice"), 404, "unknown_agent");
}

TEST_F(AgentRoutes, keep_the_priority_of_one_who_holds_or_waits_or_was_told_to_die) {
    const auto change = [&](const char* id) {
        return client.ask("PUT", std::string("/v1/agents/") + id, R"({"priority":50})");
    };
    register_agent(client, "old", 1);
    register_agent(client, "young", 2);
    const std::string id = take(client, "r", "young");
    expect_refused(change("young"), 409, "priority_fixed");
    start_waiting("r", "old");
    expect_refused(change("old"), 409, "priority_fixed");
    client.ask("DELETE", lease_path(id) + "?holder=young");
    EXPECT_EQ(waiting.read().status, 201);
    EXPECT_EQ(change("young").status, 200) << "it has nothing now";
    expect_refused(ask_for(client, "r", "young"), 409, "die");
    expect_refused(client.ask("PUT", "/v1/agents/young", R"({"priority":3})"), 409, "priority_fixed");
    take(client, "q", "young");
    EXPECT_EQ(client.ask("GET", "/v1/agents/young").number("/agent/deaths"), 0);
}

TEST_F(AgentRoutes, refuse_to_register_a_banned_one) {
    client.ask("PUT", "/v1/bans/mallory");
    expect_refused(client.ask("PUT", "/v1/agents/mallory"), 403, "banned");
}

TEST_F(AgentRoutes, say_that_the_disk_refused) {
    door.run([&] { door.durable().fails = true; });
    expect_refused(client.ask("PUT", "/v1/agents/alice"), 500, "storage_failed");
}

TEST_F(AgentRoutes, say_that_there_are_too_many) {
    door.run([&] {
        for (std::size_t i = 0; i < lease::limits::agents; ++i) {
            authority::AgentRequest request;
            request.id = "a" + std::to_string(i);
            door.authority().put_agent(std::move(request), [](const authority::Answer<authority::AgentAnswer>&) {});
        }
    });
    expect_refused(client.ask("PUT", "/v1/agents/one-more"), 503, "too_many_agents");
    EXPECT_EQ(client.ask("PUT", "/v1/agents/a1").status, 200) << "those who are in stay in";
}

TEST_F(AgentRoutes, show_the_priority_with_an_agents_lease_only) {
    register_agent(client, "alice", -77);
    const Answer agents = ask_for(client, "a", "alice");
    EXPECT_EQ(agents.number("/leases/0/priority"), -77);
    EXPECT_FALSE(ask_for(client, "b", "plain").has("/leases/0/priority"));
}

TEST_F(AgentRoutes, tell_the_younger_to_die_with_a_delay_that_grows) {
    register_agent(client, "old", 1);
    register_agent(client, "young", 2);
    const std::string id = take(client, "r", "old", R"(,"reason":"formatting")");
    const Answer died = ask_for(client, "r", "young", R"(,"wait_ms":60000)");
    expect_refused(died, 409, "die");
    EXPECT_EQ(died.text("/verdict"), "DIE");
    EXPECT_EQ(died.text("/conflicts/0/holder"), "old");
    EXPECT_EQ(died.text("/conflicts/0/reason"), "formatting");
    EXPECT_FALSE(died.has("/queue_position"));
    EXPECT_GT(died.number("/retry_in_ms"), 0);
    std::int64_t last = 0;
    for (int epoch = 2; epoch < 10; ++epoch)
        last = ask_for(client, "r", "young", R"(,"epoch":)" + std::to_string(epoch)).number("/retry_in_ms");
    EXPECT_GT(last, 4 * died.number("/retry_in_ms"));
    const Answer agent = client.ask("GET", "/v1/agents/young");
    EXPECT_EQ(agent.number("/agent/deaths"), 9);
    EXPECT_EQ(agent.number("/agent/epoch"), 9);
}

TEST_F(AgentRoutes, let_the_older_wait_and_show_what_it_waits_for) {
    register_agent(client, "old", 1);
    register_agent(client, "young", 2);
    const std::string id = take(client, "r", "young");
    start_waiting("r", "old");
    door.advance(10s);
    const Answer agent = client.ask("GET", "/v1/agents/old");
    EXPECT_EQ(agent.size("/agent/waiting"), 1U) << agent.body;
    EXPECT_EQ(agent.text("/agent/waiting/0/intents/0/resource"), "r");
    EXPECT_EQ(agent.text("/agent/waiting/0/intents/0/predicate"), "MUTATES");
    EXPECT_EQ(agent.number("/agent/waiting/0/queue_position"), 1);
    EXPECT_EQ(agent.number("/agent/waiting/0/wait_left_ms"), 50'000);
    EXPECT_EQ(agent.text("/agent/waiting/0/conflicts/0/holder"), "young");
    EXPECT_EQ(agent.number("/agent/waiting/0/retry_in_ms"), 50'000);
    EXPECT_EQ(client.ask("GET", "/v1/agents/young").number("/agent/leases"), 1);
    client.ask("DELETE", lease_path(id) + "?holder=young");
    EXPECT_EQ(waiting.read().text("/leases/0/holder"), "old");
}

TEST_F(AgentRoutes, refuse_an_older_life_everything) {
    register_agent(client, "alice", 1, 5);
    const std::string id = take(client, "r", "alice", R"(,"epoch":5)");
    register_agent(client, "alice", 1, 6);
    const auto stale = [](const Answer& answer) { expect_refused(answer, 409, "stale_epoch"); };
    const Answer acquire = ask_for(client, "q", "alice", R"(,"epoch":5)");
    stale(acquire);
    EXPECT_EQ(acquire.text("/verdict"), "REFUSED");
    const Answer renewal = client.ask("POST", lease_path(id, "heartbeat"), R"({"holder":"alice","epoch":5})");
    stale(renewal);
    EXPECT_EQ(renewal.text("/result"), "REJECTED");
    stale(client.ask("POST", "/v1/heartbeat", R"({"holder":"alice","epoch":5})"));
    stale(client.ask("DELETE", lease_path(id) + "?holder=alice&epoch=5"));
    stale(client.ask("DELETE", lease_path(id), R"({"holder":"alice","epoch":5})"));
    stale(client.ask("POST", "/v1/verify", R"({"holder":"alice","epoch":5})"));
    stale(client.ask("PUT", "/v1/agents/alice", R"({"epoch":5})"));
    stale(client.ask("POST", "/v1/agents/alice/restarting", R"({"epoch":5})"));
    EXPECT_EQ(client.ask("GET", lease_path(id)).text("/lease/state"), "ACTIVE");
}

TEST_F(AgentRoutes, reject_each_lease_that_an_older_life_names) {
    register_agent(client, "alice", 1, 5);
    const std::string id = take(client, "r", "alice");
    const Answer answer =
        client.ask("POST", "/v1/heartbeat", R"({"holder":"alice","epoch":4,"leases":[")" + id + R"(","q#1"]})");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.number("/renewed"), 0);
    EXPECT_EQ(answer.text("/results/0/error/code"), "stale_epoch");
    EXPECT_EQ(answer.text("/results/1/error/code"), "stale_epoch");
}

TEST_F(AgentRoutes, take_the_epoch_of_a_release_in_the_query_or_in_the_body) {
    register_agent(client, "alice", 1);
    const std::string a = take(client, "a", "alice"), b = take(client, "b", "alice");
    EXPECT_TRUE(client.ask("DELETE", lease_path(a) + "?holder=alice&epoch=2").truth("/released"));
    EXPECT_EQ(client.ask("GET", "/v1/agents/alice").number("/agent/epoch"), 2) << "a newer life was seen";
    EXPECT_TRUE(client.ask("DELETE", lease_path(b) + "?holder=alice", R"({"epoch":2})").truth("/released"));
    expect_refused(client.ask("DELETE", lease_path(b) + "?holder=alice&epoch=2", R"({"epoch":2})"), 400,
                   "invalid_argument");
}

TEST_F(AgentRoutes, answer_what_an_earlier_life_waits_for) {
    register_agent(client, "old", 1);
    take(client, "r", "bob");
    start_waiting("r", "old");
    register_agent(client, "old", 1, 2);
    expect_refused(waiting.read(), 409, "stale_epoch");
}

}  // namespace
}  // namespace holdfast::doors::http
