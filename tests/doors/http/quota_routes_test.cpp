#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

/// Quotas, and the progress that idle detection goes by (R6).
class QuotaRoutes : public testing::Test {
 protected:
    TestDoor door;
    TestClient client = door.connect();

    void set_policy(const char* change) { ASSERT_EQ(client.ask("PATCH", "/v1/policy", change).status, 200); }
    Answer renew(const std::string& id, const std::string& more = {}) {
        return client.ask("POST", lease_path(id, "heartbeat"), R"({"holder":"alice")" + more + "}");
    }
    static void expect_refused(const Answer& answer, const char* code) {
        EXPECT_EQ(answer.status, 403) << answer.body;
        EXPECT_EQ(answer.code(), code);
    }
};

TEST_F(QuotaRoutes, are_null_until_they_are_set_and_when_they_are_lifted) {
    const Answer before = client.ask("GET", "/v1/policy");
    const auto quotas = {"/hold_max_ms", "/idle_max_ms", "/leases_per_holder_max"};
    for (const char* quota : quotas)
        EXPECT_TRUE(before.is_null(quota)) << before.body;
    const Answer set =
        client.ask("PATCH", "/v1/policy", R"({"hold_max_ms":3600000,"idle_max_ms":90000,"leases_per_holder_max":12})");
    EXPECT_EQ(set.number("/hold_max_ms"), 3'600'000) << set.body;
    EXPECT_EQ(set.number("/idle_max_ms"), 90'000);
    EXPECT_EQ(set.number("/leases_per_holder_max"), 12);
    EXPECT_EQ(client.ask("PATCH", "/v1/policy", R"({"idle_max_ms":null})").number("/hold_max_ms"), 3'600'000)
        << "what is left out stays";
    const Answer lifted = client.ask("PATCH", "/v1/policy", R"({"hold_max_ms":null,"leases_per_holder_max":null})");
    for (const char* quota : quotas)
        EXPECT_TRUE(lifted.is_null(quota)) << lifted.body;
    EXPECT_EQ(client.ask("GET", "/v1/policy").body, lifted.body);
}

TEST_F(QuotaRoutes, that_make_no_sense_are_refused) {
    const std::string before = client.ask("GET", "/v1/policy").body;
    for (const char* name : {"hold_max_ms", "idle_max_ms", "leases_per_holder_max"})
        for (const char* value : {"0", "-1", "1.5", "\"5\"", "true", "99999999999999999999"}) {
            const Answer refused = client.ask("PATCH", "/v1/policy", std::string("{\"") + name + "\":" + value + "}");
            EXPECT_EQ(refused.status, 400) << refused.body;
            EXPECT_NE(refused.text("/error/message").find(name), std::string::npos) << refused.body;
        }
    for (const char* change : {R"({"hold_max_ms":1000000000000})", R"({"ttl_min_ms":2000,"hold_max_ms":1000})"})
        EXPECT_EQ(client.ask("PATCH", "/v1/policy", change).code(), "invalid_policy");
    EXPECT_EQ(client.ask("GET", "/v1/policy").body, before);
}

TEST_F(QuotaRoutes, limit_how_many_leases_a_holder_has) {
    set_policy(R"({"leases_per_holder_max":2})");
    take(client, "a", "alice");
    const std::string b = take(client, "b", "alice");
    const Answer refused = ask_for(client, "c", "alice");
    expect_refused(refused, "over_quota");
    EXPECT_EQ(refused.text("/verdict"), "REFUSED");
    take(client, "c", "bob");
    client.ask("DELETE", lease_path(b) + "?holder=alice");
    take(client, "d", "alice");
}

TEST_F(QuotaRoutes, limit_how_long_a_holder_keeps_a_resource) {
    set_policy(R"({"hold_max_ms":100000})");
    const std::string id = take(client, "r", "alice");
    door.advance(50s);
    const Answer cut = renew(id);
    EXPECT_EQ(cut.status, 200) << cut.body;
    EXPECT_EQ(cut.number("/lease/timeline/expires_in_ms"), 50'000);
    door.advance(20s);
    const Answer refused = renew(id);
    expect_refused(refused, "over_quota");
    EXPECT_EQ(refused.text("/result"), "REJECTED");
}

TEST_F(QuotaRoutes, refuse_to_renew_what_makes_no_progress) {
    set_policy(R"({"idle_max_ms":30000})");
    const Answer granted = ask_for(client, "r", "alice", R"(,"progress":5)");
    EXPECT_EQ(granted.number("/leases/0/progress"), 5);
    const std::string id = granted.text("/leases/0/id");
    door.advance(29s);
    EXPECT_EQ(renew(id, R"(,"progress":5)").status, 200) << "not idle for long enough";
    door.advance(1s);
    const Answer idle = renew(id, R"(,"progress":5)");
    expect_refused(idle, "lease_idle");
    EXPECT_EQ(idle.text("/result"), "REJECTED");
    const Answer moved = renew(id, R"(,"progress":6)");
    EXPECT_EQ(moved.status, 200) << moved.body;
    EXPECT_EQ(moved.number("/lease/progress"), 6);
}

TEST_F(QuotaRoutes, leave_out_a_progress_that_was_not_given) {
    const std::string id = take(client, "r", "alice");
    EXPECT_FALSE(client.ask("GET", lease_path(id)).has("/lease/progress"));
    EXPECT_EQ(renew(id, R"(,"progress":0)").number("/lease/progress"), 0);
}

TEST_F(QuotaRoutes, take_the_progress_of_each_lease_or_of_all) {
    const std::string a = take(client, "a", "alice"), b = take(client, "b", "alice");
    const auto beat = [&](const std::string& more) {
        return client.ask("POST", "/v1/heartbeat", R"({"holder":"alice")" + more + "}");
    };
    const std::string named = R"(,"leases":[{"id":")" + a + R"(","progress":7},{"id":")" + b + R"("}])";
    const Answer each = beat(named);
    ASSERT_EQ(each.number("/renewed"), 2) << each.body;
    EXPECT_FALSE(each.truth("/more"));
    EXPECT_EQ(each.number("/results/0/lease/progress"), 7);
    EXPECT_FALSE(each.has("/results/1/lease/progress"));
    const Answer rest = beat(named + R"(,"progress":3)");
    EXPECT_EQ(rest.number("/results/0/lease/progress"), 7);
    EXPECT_EQ(rest.number("/results/1/lease/progress"), 3);
    const Answer all = beat(R"(,"progress":9)");
    ASSERT_EQ(all.number("/renewed"), 2) << all.body;
    EXPECT_EQ(all.number("/results/0/lease/progress"), 9);
    EXPECT_EQ(all.number("/results/1/lease/progress"), 9);
}

TEST_F(QuotaRoutes, say_that_a_heartbeat_left_some_leases_alone) {
    door.run([&] {
        for (std::size_t i = 0; i <= lease::limits::leases_per_heartbeat; ++i) {
            authority::AcquireRequest request;
            request.holder = "alice";
            request.intents = {{"r" + std::to_string(i), lease::Predicate::mutates}};
            door.authority().acquire(std::move(request), [](const authority::AcquireAnswer&) {});
        }
    });
    const Answer answer = client.ask("POST", "/v1/heartbeat", R"({"holder":"alice"})");
    EXPECT_TRUE(answer.truth("/more"));
    EXPECT_EQ(answer.number("/renewed"), 10'000);
}

TEST_F(QuotaRoutes, end_a_heartbeat_of_long_names_before_its_answer_stalls_the_server) {
    constexpr std::size_t fitting = lease::limits::name_bytes_per_heartbeat / lease::limits::resource_bytes;
    door.run([&] {
        for (std::size_t i = 0; i < 2 * fitting; ++i) {
            authority::AcquireRequest request;
            request.holder = "alice";
            std::string name = "r" + std::to_string(i);
            name.resize(lease::limits::resource_bytes, 'x');
            request.intents = {{std::move(name), lease::Predicate::mutates}};
            door.authority().acquire(std::move(request), [](const authority::AcquireAnswer&) {});
        }
    });
    const Answer answer = client.ask("POST", "/v1/heartbeat", R"({"holder":"alice"})");
    EXPECT_TRUE(answer.truth("/more"));
    EXPECT_EQ(answer.number("/renewed"), fitting);
}

}  // namespace
}  // namespace holdfast::doors::http
