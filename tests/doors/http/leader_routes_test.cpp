#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(LeaderRoutes, say_who_leads_with_which_token_and_for_how_long) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string lease = take(client, "leader:billing", "alice", R"(,"ttl_ms":10000)");
    door.advance(4s);
    const Answer answer = client.ask("GET", "/v1/leaders/billing");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.text("/group"), "billing");
    EXPECT_EQ(answer.text("/resource"), "leader:billing");
    EXPECT_EQ(answer.text("/leader"), "alice");
    EXPECT_EQ("leader:billing#" + std::to_string(answer.number("/token")), lease);
    EXPECT_EQ(answer.number("/expires_in_ms"), 6000);
}

TEST(LeaderRoutes, say_that_nobody_leads_before_and_after) {
    TestDoor door;
    TestClient client = door.connect();
    const auto expect_nobody = [&] {
        const Answer answer = client.ask("GET", "/v1/leaders/billing");
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.text("/resource"), "leader:billing");
        EXPECT_TRUE(answer.is_null("/leader"));
        EXPECT_TRUE(answer.is_null("/token"));
        EXPECT_TRUE(answer.is_null("/expires_in_ms"));
    };
    expect_nobody();
    take(client, "leader:billing", "alice", R"(,"ttl_ms":1000)");
    door.advance(1s);  // T2: nothing honours it from here on
    expect_nobody();
}

TEST(LeaderRoutes, pass_on_to_the_next_leader_with_a_higher_token) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string first = take(client, "leader:g", "alice", R"(,"session":"s-1")");
    const auto term = client.ask("GET", "/v1/leaders/g").number("/token");
    client.ask("DELETE", lease_path(first) + "?holder=alice&session=s-1");
    take(client, "leader:g", "bob");
    const Answer answer = client.ask("GET", "/v1/leaders/g");
    EXPECT_EQ(answer.text("/leader"), "bob");
    EXPECT_GT(answer.number("/token"), term);
}

TEST(LeaderRoutes, let_nobody_but_the_leader_give_the_lead_back) {  // R2
    TestDoor door;
    TestClient client = door.connect();
    const std::string lease = take(client, "leader:g", "alice", R"(,"session":"s-1")");
    for (const char* guess : {"", "&session=", "&session=s-2"}) {
        const Answer refused = client.ask("DELETE", lease_path(lease) + "?holder=alice" + guess);
        EXPECT_EQ(refused.status, 403) << guess;
        EXPECT_EQ(refused.code(), "service_lease") << guess;
    }
    EXPECT_EQ(client.ask("GET", lease_path(lease)).body.find("s-1"), std::string::npos) << "it would prove the leader";
    EXPECT_EQ(client.ask("GET", "/v1/leases").body.find("s-1"), std::string::npos);
    const Answer renewed = client.ask("POST", lease_path(lease) + "/heartbeat", R"({"holder":"alice"})");
    EXPECT_EQ(renewed.status, 200);
    EXPECT_EQ(renewed.body.find("s-1"), std::string::npos);
    EXPECT_EQ(client.ask("GET", "/v1/leaders/g").text("/leader"), "alice");
    const Answer given = client.ask("DELETE", lease_path(lease), R"({"holder":"alice","session":"s-1"})");
    EXPECT_TRUE(given.truth("/released"));
    EXPECT_TRUE(client.ask("GET", "/v1/leaders/g").is_null("/leader"));
}

TEST(LeaderRoutes, let_every_leader_step_down_also_one_that_named_no_session) {  // R2
    TestDoor door;
    TestClient client = door.connect();
    client.ask("PUT", "/v1/agents/agent", "{}");
    for (const char* more : {R"("holder":"alice")", R"("holder":"alice","idempotency_key":"k-1")",
                             R"("holder":"agent")", R"("holder":"agent","idempotency_key":"k-2")"}) {
        const Answer granted =
            client.ask("POST", "/v1/leases",
                       std::string("{") + more + R"(,"intents":[{"resource":"leader:g","predicate":"MUTATES"}]})");
        ASSERT_EQ(granted.status, 201) << granted.body;
        const std::string session = granted.text("/leases/0/session");
        EXPECT_FALSE(session.empty()) << more;
        const std::string path =
            lease_path(granted.text("/leases/0/id")) + "?holder=" + granted.text("/leases/0/holder");
        for (const char* guess : {"", "&session=", "&session=epoch:0", "&session=epoch:1"})
            EXPECT_EQ(client.ask("DELETE", path + guess).code(), "service_lease") << more << " " << guess;
        EXPECT_TRUE(client.ask("DELETE", path + "&session=" + session).truth("/released")) << more;
    }
}

TEST(LeaderRoutes, do_not_show_its_session_with_other_leases_of_its_manifest) {  // R2
    TestDoor door;
    TestClient client = door.connect();
    for (const char* more : {"", R"(,"idempotency_key":"k-1")", R"(,"session":"private:mine")"}) {
        const Answer granted = client.ask(
            "POST", "/v1/leases",
            std::string(R"({"holder":"alice")") + more + R"(,"intents":[{"resource":"leader:g"},{"resource":"db"}]})");
        ASSERT_EQ(granted.status, 201) << granted.body;
        const std::string session = granted.text("/leases/0/session");
        EXPECT_EQ(granted.text("/leases/1/session"), session);
        EXPECT_EQ(client.ask("GET", "/v1/leases").body.find("session"), std::string::npos) << more;
        const std::string other = lease_path(granted.text("/leases/1/id"));
        EXPECT_EQ(client.ask("GET", other).body.find("session"), std::string::npos) << more;
        EXPECT_EQ(client.ask("POST", other + "/heartbeat", R"({"holder":"alice"})").body.find("session"),
                  std::string::npos)
            << more;
        const std::string path = lease_path(granted.text("/leases/0/id")) + "?holder=alice";
        EXPECT_EQ(client.ask("DELETE", path + "&session=k-1").code(), "service_lease") << more;
        EXPECT_TRUE(client.ask("DELETE", path + "&session=" + session).truth("/released")) << more;
        EXPECT_TRUE(client.ask("DELETE", other + "?holder=alice").truth("/released")) << more;
    }
}

TEST(LeaderRoutes, that_revoke_a_leader_let_it_stop_first) {  // R7
    TestDoor door;
    TestClient client = door.connect();
    const std::string lease = take(client, "leader:g", "alice", R"(,"session":"s-1")");
    const Answer revoked = client.ask("POST", lease_path(lease) + "/revoke", "{}");
    EXPECT_EQ(revoked.status, 200);
    EXPECT_EQ(revoked.text("/lease/state"), "ACTIVE");
    EXPECT_FALSE(revoked.truth("/lease/renewable"));
    EXPECT_EQ(client.ask("GET", "/v1/leaders/g").text("/leader"), "alice");
    EXPECT_EQ(client.ask("POST", lease_path(lease) + "/heartbeat", R"({"holder":"alice"})").code(), "renewal_barred");
}

TEST(LeaderRoutes, do_not_take_a_group_for_another_nor_a_reader_for_a_leader) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "leader:g2", "alice");
    take(client, "leader:g", "bob", R"(,"namespace":"elsewhere")");
    ask_for(client, "leader:g", "carol", R"(,"predicate":"CONSUMES")");
    EXPECT_TRUE(client.ask("GET", "/v1/leaders/g").is_null("/leader"));
}

TEST(LeaderRoutes, take_any_name_that_a_resource_may_have) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "leader:a/b c", "alice");
    EXPECT_EQ(client.ask("GET", "/v1/leaders/a%2Fb%20c").text("/leader"), "alice");
    EXPECT_EQ(client.ask("GET", "/v1/leaders/a/b%20c").text("/leader"), "alice") << "a slash may stand as it is";
    EXPECT_EQ(client.ask("GET", "/v1/leaders/" + std::string(5000, 'x')).code(), "invalid_argument");
    EXPECT_EQ(client.ask("GET", "/v1/leaders/a%00").code(), "invalid_argument");
    EXPECT_EQ(client.ask("GET", "/v1/leaders/a?x=1").code(), "unknown_field");
    EXPECT_EQ(client.ask("GET", "/v1/leaders/").code(), "not_found");
    EXPECT_EQ(client.ask("POST", "/v1/leaders/a").code(), "method_not_allowed");
}

TEST(QuorumRoute, shows_what_the_node_says) {
    DoorSetting setting;
    int asked = 0;
    setting.options.quorum_status = [&] { return R"({"node":"a","asked":)" + std::to_string(++asked) + "}"; };
    TestDoor door(setting);
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/v1/quorum").body, R"({"node":"a","asked":1})");
    const Answer again = client.ask("GET", "/v1/quorum");
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.headers.at("content-type"), "application/json");
    EXPECT_EQ(again.number("/asked"), 2) << "as it is now, not as it was";
}

TEST(ReadyRoute, says_why_nothing_can_be_granted_and_for_how_long) {
    DoorSetting setting;
    std::optional<Trouble> trouble;
    setting.options.own_trouble = [&] { return trouble; };
    setting.options.numbers = [] {
        return MetricNumbers{{"holdfast_some", "Some", 7}, {"holdfast_more_total", "More", 9, true}};
    };
    TestDoor door(setting);
    TestClient client = door.connect();
    Answer ready = client.ask("GET", "/ready");
    EXPECT_EQ(ready.status, 200);
    EXPECT_EQ(ready.body, R"({"ready":true,"code":"ok"})");

    trouble = Trouble{"silent", "one of three members votes", 254s};
    ready = client.ask("GET", "/ready");
    EXPECT_EQ(ready.status, 503);
    EXPECT_EQ(ready.text("/code"), "silent");
    EXPECT_EQ(ready.text("/reason"), "one of three members votes");
    EXPECT_EQ(ready.number("/retry_in_ms"), 254'000);
    EXPECT_EQ(ready.headers.at("retry-after"), "254");
    const Answer health = client.ask("GET", "/health");
    EXPECT_EQ(health.status, 200) << "nobody is to restart it for that";
    EXPECT_EQ(health.text("/status"), "silent");
    EXPECT_EQ(health.text("/reason"), "one of three members votes");
    EXPECT_NE(client.ask("GET", "/metrics").body.find("holdfast_ready 0"), std::string::npos);

    trouble = Trouble{"storage_failed", "the disk is full", std::nullopt, true};
    ready = client.ask("GET", "/ready");
    EXPECT_EQ(ready.status, 200) << "leases are granted all the same";
    EXPECT_EQ(ready.text("/code"), "storage_failed");
    EXPECT_EQ(client.ask("GET", "/health").text("/status"), "storage_failed");
    const std::string metrics = client.ask("GET", "/metrics").body;
    for (const char* line : {"holdfast_ready 1", "holdfast_some 7", "holdfast_more_total 9"})
        EXPECT_NE(metrics.find(line), std::string::npos) << line;
}

TEST(StoreRoute, shows_where_leases_are_kept_and_health_that_it_is_away) {
    DoorSetting setting;
    std::optional<Error> trouble;
    setting.options.store_status = [&] {
        return std::string(trouble ? R"({"reachable":false})" : R"({"reachable":true})");
    };
    setting.options.store_trouble = [&]() -> const Error* { return trouble ? &*trouble : nullptr; };
    TestDoor door(setting);
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/v1/store").body, R"({"reachable":true})");
    EXPECT_EQ(client.ask("GET", "/health").text("/status"), "ok");
    trouble = Error{Code::store_unavailable, "no route to it"};
    EXPECT_EQ(client.ask("GET", "/v1/store").body, R"({"reachable":false})");
    const Answer away = client.ask("GET", "/health");
    EXPECT_EQ(away.status, 200) << "a restart would not help";
    EXPECT_EQ(away.text("/status"), "store_unavailable");
    EXPECT_EQ(away.text("/trouble"), "no route to it");
}

TEST(QuorumRoute, of_a_server_that_is_alone_says_so) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer answer = client.ask("GET", "/v1/quorum");
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.code(), "not_clustered");
    EXPECT_EQ(client.ask("GET", "/v1/quorum?x=1").code(), "unknown_field");
}

}  // namespace
}  // namespace holdfast::doors::http
