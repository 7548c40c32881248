#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(AdminRoutes, show_and_change_the_policy) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer before = client.ask("GET", "/v1/policy");
    EXPECT_EQ(before.number("/ttl_default_ms"), 60'000);
    EXPECT_EQ(before.number("/ttl_max_ms"), 300'000);
    EXPECT_EQ(before.text("/ttl_over_max"), "cut");
    EXPECT_TRUE(before.is_null("/name_pattern"));
    const Answer changed = client.ask("PATCH", "/v1/policy",
                                      R"({"ttl_min_ms":2000,"ttl_max_ms":90000,"ttl_default_ms":5000,
                                          "ttl_over_max":"reject","wait_max_ms":7000,"name_pattern":"job/.*"})");
    ASSERT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed.number("/ttl_min_ms"), 2000);
    EXPECT_EQ(changed.text("/ttl_over_max"), "reject");
    EXPECT_EQ(changed.text("/name_pattern"), "job/.*");
    EXPECT_EQ(client.ask("GET", "/v1/policy").body, changed.body);
    EXPECT_TRUE(client.ask("PATCH", "/v1/policy", R"({"name_pattern":null})").is_null("/name_pattern"));
}

TEST(AdminRoutes, show_and_change_the_policy_of_a_namespace) {  // R7
    TestDoor door;
    TestClient client = door.connect();
    const Answer set = client.ask("PATCH", "/v1/policy?namespace=team", R"({"ttl_max_ms":600000,"hold_max_ms":null})");
    ASSERT_EQ(set.status, 200) << set.body;
    EXPECT_EQ(set.text("/namespace"), "team");
    EXPECT_EQ(set.number("/ttl_max_ms"), 600'000);
    EXPECT_EQ(set.number("/ttl_min_ms"), client.ask("GET", "/v1/policy").number("/ttl_min_ms"));
    EXPECT_EQ(set.text("/inherited/0"), "ttl_min_ms");
    EXPECT_EQ(set.text("/inherited/1"), "ttl_default_ms");
    EXPECT_EQ(client.ask("GET", "/v1/policy?namespace=team").body, set.body);
    const Answer whole = client.ask("GET", "/v1/policy");
    EXPECT_EQ(whole.number("/ttl_max_ms"), 300'000);
    EXPECT_EQ(whole.text("/namespace"), "default");
    EXPECT_EQ(whole.text("/namespaces/0"), "team");
    EXPECT_EQ(client.ask("GET", "/v1/audit").text("/audit/0/what"),
              "change policy of team: ttl_max=10m00s hold_max=0ms");
    const Answer back = client.ask("PATCH", "/v1/policy?namespace=team", R"({"inherit":["ttl_max_ms","hold_max_ms"]})");
    EXPECT_EQ(back.number("/ttl_max_ms"), 300'000) << back.body;
    EXPECT_NE(client.ask("GET", "/v1/policy").body.find(R"("namespaces":[])"), std::string::npos);
}

TEST(AdminRoutes, refuse_a_policy_that_no_namespace_can_have) {
    TestDoor door;
    TestClient client = door.connect();
    for (const char* target : {"/v1/policy?namespace=a/b", "/v1/policy?name_space=a", "/v1/policy?namespace=a&x=1"}) {
        EXPECT_EQ(client.ask("PATCH", target, R"({"ttl_max_ms":600000})").status, 400) << target;
        EXPECT_EQ(client.ask("GET", target).status, 400) << target;
    }
    EXPECT_EQ(client.ask("PATCH", "/v1/policy?namespace=a", R"({"inherit":["nothing"]})").code(), "invalid_argument");
    EXPECT_EQ(client.ask("PATCH", "/v1/policy?namespace=a", R"({"approval":"manual"})").code(), "invalid_policy");
    EXPECT_EQ(client.ask("PATCH", "/v1/policy?namespace=~other", R"({"ttl_max_ms":600000})").code(), "invalid_policy");
    EXPECT_EQ(client.ask("PATCH", "/v1/policy", R"({"inherit":["ttl_max_ms"]})").code(), "invalid_policy");
}

TEST(AdminRoutes, keep_the_old_policy_if_the_new_one_makes_no_sense) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string before = client.ask("GET", "/v1/policy").body;
    for (const char* change : {R"({"ttl_min_ms":400000})", R"({"name_pattern":"("})", R"({"ttl_max_ms":100000000})"}) {
        const Answer refused = client.ask("PATCH", "/v1/policy", change);
        EXPECT_EQ(refused.status, 422) << change;
        EXPECT_EQ(refused.code(), "invalid_policy");
    }
    EXPECT_EQ(client.ask("PATCH", "/v1/policy", R"({"ttl_over_max":"maybe"})").code(), "invalid_argument");
    EXPECT_EQ(client.ask("PATCH", "/v1/policy", R"({"name_pattern":7})").code(), "invalid_argument");
    EXPECT_EQ(client.ask("GET", "/v1/policy").body, before);
}

TEST(AdminRoutes, say_that_the_disk_refused) {
    TestDoor door;
    door.run([&] { door.durable().fails = true; });
    TestClient client = door.connect();
    const Answer refused = client.ask("PATCH", "/v1/policy", R"({"ttl_max_ms":90000})");
    EXPECT_EQ(refused.status, 500);
    EXPECT_EQ(refused.code(), "storage_failed");
    EXPECT_EQ(client.ask("GET", "/v1/policy").number("/ttl_max_ms"), 300'000);
}

TEST(AdminRoutes, tell_who_did_what) {  // L3
    TestDoor door;
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/v1/audit").body, R"({"audit":[],"next":null})");
    client.ask("PATCH", "/v1/policy", R"({"ttl_max_ms":90000,"name_pattern":"job/.*"})");
    client.ask("PUT", "/v1/bans/mallory", R"({"reason":"noise"})");
    client.ask("DELETE", "/v1/bans/mallory");
    for (const char* resource : {"job/a", "job/b"}) {
        const Answer lease = client.ask(
            "POST", "/v1/leases", R"({"holder":"alice","intents":[{"resource":")" + std::string(resource) + R"("}]})");
        ASSERT_EQ(lease.status, 201) << lease.body;
    }
    client.ask("POST", "/v1/leases/job%2Fa%23" +
                           std::to_string(client.ask("GET", "/v1/leases?prefix=job/a").number("/leases/0/token")) +
                           "/revoke");
    client.ask("POST", "/v1/leases/job%2Fb%23" +
                           std::to_string(client.ask("GET", "/v1/leases?prefix=job/b").number("/leases/0/token")) +
                           "/bar");
    client.ask("PUT", "/v1/agents/worker", "{}");
    client.ask("DELETE", "/v1/agents/worker");
    const Answer all = client.ask("GET", "/v1/audit");
    EXPECT_TRUE(all.text("/audit/0/who").starts_with("127.0.0.1:")) << all.body;
    EXPECT_EQ(all.number("/audit/0/number"), 1);
    EXPECT_EQ(all.text("/audit/0/what"), "change policy: ttl_max=1m30s name_pattern=job/.*");
    EXPECT_EQ(all.text("/audit/1/what"), "ban mallory: noise");
    EXPECT_EQ(all.text("/audit/2/what"), "unban mallory");
    EXPECT_TRUE(all.text("/audit/3/what").starts_with("revoke job/a (token ")) << all.body;
    EXPECT_TRUE(all.text("/audit/4/what").starts_with("bar job/b (token ")) << all.body;
    EXPECT_EQ(all.text("/audit/5/what"), "forget agent worker");
    const Answer page = client.ask("GET", "/v1/audit?after=1&limit=2");
    EXPECT_EQ(page.number("/audit/1/number"), 3);
    EXPECT_EQ(page.text("/next"), "3");
    EXPECT_EQ(client.ask("GET", "/v1/audit?after=x").code(), "invalid_argument");
}

TEST(AdminRoutes, refuse_an_acquire_that_the_policy_does_not_allow) {
    TestDoor door;
    TestClient client = door.connect();
    const auto expect = [&](const char* body, int status, const char* code) {
        const Answer answer = client.ask("POST", "/v1/leases", body);
        EXPECT_EQ(answer.status, status);
        EXPECT_EQ(answer.code(), code);
        EXPECT_EQ(answer.text("/verdict"), "REFUSED");
    };
    client.ask("PATCH", "/v1/policy",
               R"({"ttl_min_ms":1000,"ttl_max_ms":60000,"ttl_over_max":"reject","name_pattern":"job/.*"})");
    expect(R"({"holder":"a","resource":"job/1","ttl_ms":999})", 422, "ttl_too_short");
    expect(R"({"holder":"a","resource":"job/1","ttl_ms":60001})", 422, "ttl_too_long");
    expect(R"({"holder":"a","resource":"other"})", 403, "name_refused");
    client.ask("PUT", "/v1/bans/a");
    expect(R"({"holder":"a","resource":"job/1"})", 403, "banned");
}

TEST(AdminRoutes, bar_and_revoke) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "r", "alice");
    const Answer barred = client.ask("POST", lease_path(id, "bar"), "{}");
    EXPECT_EQ(barred.status, 200);
    EXPECT_FALSE(barred.truth("/lease/renewable"));
    const Answer revoked = client.ask("POST", lease_path(id, "revoke"));
    EXPECT_EQ(revoked.status, 200);
    EXPECT_EQ(revoked.text("/id"), id);
    EXPECT_EQ(revoked.text("/state"), "REVOKED");
    for (const char* verb : {"bar", "revoke"}) {
        const Answer ended = client.ask("POST", lease_path(id, verb));
        EXPECT_EQ(ended.status, 410);
        EXPECT_EQ(ended.code(), "lease_revoked");
        const Answer unknown = client.ask("POST", lease_path("never#3", verb));
        EXPECT_EQ(unknown.status, 404);
        EXPECT_EQ(unknown.code(), "unknown_lease");
        EXPECT_EQ(client.ask("POST", lease_path(id, verb), R"({"why":"x"})").code(), "unknown_field");
    }
}

TEST(AdminRoutes, ban_and_unban) {
    TestDoor door;
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/v1/bans/mallory").code(), "not_banned");
    EXPECT_EQ(client.ask("GET", "/v1/bans/mallory").status, 404);
    const Answer banned = client.ask("PUT", "/v1/bans/mallory", R"({"reason":"noise"})");
    ASSERT_EQ(banned.status, 200) << banned.body;
    EXPECT_EQ(banned.text("/holder"), "mallory");
    EXPECT_EQ(banned.text("/reason"), "noise");
    EXPECT_EQ(client.ask("GET", "/v1/bans/mallory").body, banned.body);
    EXPECT_EQ(client.ask("PUT", "/v1/bans/with%2Fslash%20%23").text("/holder"), "with/slash #");
    EXPECT_EQ(client.ask("GET", "/v1/bans").size("/bans"), 2U);
    EXPECT_TRUE(client.ask("DELETE", "/v1/bans/mallory").truth("/unbanned"));
    EXPECT_FALSE(client.ask("DELETE", "/v1/bans/mallory").truth("/unbanned"));
    EXPECT_EQ(client.ask("PUT", "/v1/bans/a%00b").code(), "invalid_argument");
    EXPECT_EQ(client.ask("PUT", "/v1/bans/" + std::string(257, 'x')).code(), "invalid_argument");
}

TEST(AdminRoutes, list_bans_in_pages) {
    TestDoor door;
    TestClient client = door.connect();
    for (const char* holder : {"c", "a", "b"})
        client.ask("PUT", std::string("/v1/bans/") + holder);
    const Answer first = client.ask("GET", "/v1/bans?limit=2");
    EXPECT_EQ(first.text("/bans/0/holder"), "a");
    EXPECT_EQ(first.text("/next"), "b");
    const Answer second = client.ask("GET", "/v1/bans?limit=2&after=b");
    EXPECT_EQ(second.size("/bans"), 1U);
    EXPECT_TRUE(second.is_null("/next"));
}

}  // namespace
}  // namespace holdfast::doors::http
