#include <gtest/gtest.h>

#include "base/text.h"
#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(LeaseRoutes, grant_a_plain_lock_with_its_timeline) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer answer = client.ask("POST", "/v1/leases",
                                     R"({"holder":"alice","resource":"FILE:/src/main.c","reason":"refactoring",
                                         "metadata":{"a":[1.10,12345678901234567890,true,null,"ü\n"]},"session":"s1"})");
    ASSERT_EQ(answer.status, 201) << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    EXPECT_TRUE(answer.headers.contains("date"));
    EXPECT_EQ(answer.text("/verdict"), "GRANTED");
    const std::int64_t token = answer.number("/leases/0/token");
    EXPECT_EQ(answer.text("/leases/0/id"), "FILE:/src/main.c#" + std::to_string(token));
    EXPECT_EQ(answer.text("/leases/0/namespace"), "default");
    EXPECT_EQ(answer.text("/leases/0/resource"), "FILE:/src/main.c");
    EXPECT_EQ(answer.text("/leases/0/predicate"), "MUTATES");
    EXPECT_EQ(answer.text("/leases/0/holder"), "alice");
    EXPECT_EQ(answer.text("/leases/0/session"), "s1");
    EXPECT_EQ(answer.text("/leases/0/state"), "ACTIVE");
    EXPECT_EQ(answer.text("/leases/0/reason"), "refactoring");
    EXPECT_TRUE(answer.truth("/leases/0/renewable"));
    EXPECT_EQ(answer.number("/leases/0/ttl_ms"), 60'000);
    EXPECT_EQ(answer.number("/leases/0/timeline/renew_in_ms"), 20'000);
    EXPECT_EQ(answer.number("/leases/0/timeline/soft_terminate_in_ms"), 40'000);
    EXPECT_EQ(answer.number("/leases/0/timeline/hard_terminate_in_ms"), 50'000);
    EXPECT_EQ(answer.number("/leases/0/timeline/expires_in_ms"), 60'000);
    EXPECT_FALSE(answer.has("/leases/0/timeline/renew_at_ms"));
    EXPECT_FALSE(answer.has("/ttl_cut"));
    // Digit for digit, as it was sent.
    EXPECT_NE(answer.body.find(R"("metadata":{"a":[1.10,12345678901234567890,true,null,"ü\n"]})"), std::string::npos);
}

TEST(LeaseRoutes, grant_one_of_two_that_give_the_same_holder) {  // G2
    TestDoor door;
    TestClient client = door.connect();
    const auto ask = [&](const std::string& rest) {
        return client.ask("POST", "/v1/leases", R"({"holder":"billing","resource":"invoices")" + rest + "}");
    };
    const Answer first = ask(R"(,"idempotency_key":"k1")");
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(first.text("/leases/0/session"), "k1");
    EXPECT_EQ(ask("").status, 409);
    EXPECT_EQ(ask(R"(,"idempotency_key":"k2")").status, 409);
    const Answer repeated = ask(R"(,"idempotency_key":"k1")");
    EXPECT_EQ(repeated.number("/leases/0/token"), first.number("/leases/0/token"));
    EXPECT_EQ(ask(R"(,"session":"k1")").status, 201) << "whoever names the session is in it";
}

TEST(LeaseRoutes, show_nothing_on_a_terminal_that_steers_it) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string steering = "é\u202e\u009b31m\u2028";
    const Answer granted = client.ask(
        "POST", "/v1/leases",
        R"({"holder":")" + steering + R"(","resource":"r","metadata":{"a":")" + steering + R"(\u001b\u007f"}})");
    ASSERT_EQ(granted.status, 201) << granted.body;
    for (const Answer& answer : {granted, client.ask("GET", "/v1/leases"), ask_for(client, "r", "bob")}) {
        EXPECT_NE(answer.body.find("é\\u202e\\u009b31m\\u2028"), std::string::npos) << answer.body;
        for (const char* raw : {"\u202e", "\u009b", "\u2028", "\x1b", "\x7f"})
            EXPECT_EQ(answer.body.find(raw), std::string::npos) << answer.body;
    }
    EXPECT_EQ(granted.text("/leases/0/holder"), steering);
    EXPECT_EQ(granted.text("/leases/0/metadata/a"), steering + "\x1b\x7f");
}

TEST(LeaseRoutes, leave_out_a_reason_and_metadata_that_were_not_given) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer answer = client.ask("POST", "/v1/leases", R"({"holder":"alice","resource":"r"})");
    EXPECT_FALSE(answer.has("/leases/0/reason"));
    EXPECT_FALSE(answer.has("/leases/0/metadata"));
}

TEST(LeaseRoutes, give_the_timeline_on_the_holders_clock_if_it_told_it) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer answer =
        client.ask("POST", "/v1/leases", R"({"holder":"alice","resource":"r","ttl_ms":6000,"client_time_ms":1000000})");
    EXPECT_EQ(answer.number("/leases/0/timeline/renew_at_ms"), 1'002'000);
    EXPECT_EQ(answer.number("/leases/0/timeline/soft_terminate_at_ms"), 1'004'000);
    EXPECT_EQ(answer.number("/leases/0/timeline/hard_terminate_at_ms"), 1'005'000);
}

TEST(LeaseRoutes, advise_whoever_named_a_lease_with_a_plain_hash) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "db", "alice");
    // What is left of .../db#17, .../db#17?holder=alice and .../db#17/heartbeat when the client has cut them at the #.
    for (const char* method : {"GET", "DELETE", "POST", "PUT"}) {
        const Answer answer = client.ask(method, "/v1/leases/db", method == std::string_view("POST") ? "{}" : "");
        EXPECT_EQ(answer.status, 400) << method;
        EXPECT_EQ(answer.code(), "invalid_argument");
        EXPECT_NE(answer.text("/error/message").find("/v1/leases/db%23TOKEN"), std::string::npos) << answer.body;
    }
    for (const char* verb : {"heartbeat", "bar", "revoke"}) {
        const Answer answer = client.ask("POST", std::string("/v1/leases/db/") + verb, "{}");
        EXPECT_EQ(answer.status, 400) << verb;
        EXPECT_NE(answer.text("/error/message").find("%23"), std::string::npos) << answer.body;
    }
    EXPECT_EQ(client.ask("GET", "/v1/leases/%FF").status, 400) << "nor does what is no text do harm";
    EXPECT_EQ(client.ask("GET", "/v1/leases/" + id).status, 200) << "a client may send the # as it is";
    EXPECT_EQ(client.ask("GET", lease_path(id)).status, 200);
}

TEST(LeaseRoutes, leave_out_of_large_answers_what_the_holder_wrote_itself) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string metadata = R"(,"metadata":{"x":")" + std::string(8000, 'm') + R"("})";
    for (int i = 0; i < 300; ++i)
        take(client, "big" + std::to_string(i), "bob", metadata);
    const Answer answer = client.ask("POST", "/v1/heartbeat", R"({"holder":"bob"})");
    EXPECT_EQ(answer.number("/renewed"), 300);
    EXPECT_TRUE(answer.has("/results/0/lease/metadata"));
    EXPECT_FALSE(answer.has("/results/299/lease/metadata"));
    EXPECT_TRUE(answer.has("/results/299/lease/timeline/expires_in_ms"));
    EXPECT_LT(answer.body.size(), 1'300'000U);
}

TEST(LeaseRoutes, round_durations_down) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "r", "alice", R"(,"ttl_ms":1000)");
    door.advance(1500us);
    EXPECT_EQ(client.ask("GET", lease_path(id)).number("/lease/timeline/expires_in_ms"), 998);
}

TEST(LeaseRoutes, say_that_a_ttl_was_cut) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer answer = client.ask("POST", "/v1/leases", R"({"holder":"alice","resource":"r","ttl_ms":900000})");
    EXPECT_EQ(answer.number("/ttl_cut/requested_ms"), 900'000);
    EXPECT_EQ(answer.number("/ttl_cut/granted_ms"), 300'000);
    const std::string path = lease_path(answer.text("/leases/0/id"), "heartbeat");
    const Answer renewed = client.ask("POST", path, R"({"holder":"alice","ttl_ms":900000})");
    EXPECT_EQ(renewed.number("/ttl_cut/granted_ms"), 300'000);
}

TEST(LeaseRoutes, grant_a_manifest_whole_and_in_order) {
    TestDoor door;
    TestClient client = door.connect();
    const Answer answer = client.ask(
        "POST", "/v1/leases",
        R"({"holder":"a","namespace":"ns","intents":[{"resource":"z","predicate":"CONSUMES"},{"resource":"b"}]})");
    ASSERT_EQ(answer.status, 201) << answer.body;
    ASSERT_EQ(answer.size("/leases"), 2U);
    EXPECT_EQ(answer.text("/leases/0/resource"), "z");
    EXPECT_EQ(answer.text("/leases/0/predicate"), "CONSUMES");
    EXPECT_EQ(answer.text("/leases/1/resource"), "b");
    EXPECT_EQ(answer.text("/leases/1/namespace"), "ns");
    EXPECT_TRUE(answer.text("/leases/1/id").starts_with("@ns/b#"));
}

TEST(LeaseRoutes, name_the_holder_who_is_in_the_way) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "r", "bob", R"(,"reason":"formatting")");
    door.advance(10s);
    const Answer answer = client.ask("POST", "/v1/leases", R"({"holder":"alice","resource":"r"})");
    ASSERT_EQ(answer.status, 409);
    EXPECT_EQ(answer.text("/verdict"), "WAIT");
    EXPECT_EQ(answer.code(), "busy");
    EXPECT_EQ(answer.text("/conflicts/0/holder"), "bob");
    EXPECT_EQ(answer.text("/conflicts/0/reason"), "formatting");
    EXPECT_EQ(answer.text("/conflicts/0/predicate"), "MUTATES");
    EXPECT_EQ("r#" + std::to_string(answer.number("/conflicts/0/token")), id);
    EXPECT_EQ(answer.number("/conflicts/0/expires_in_ms"), 50'000);
    EXPECT_FALSE(answer.truth("/conflicts/0/waiting"));
    EXPECT_FALSE(answer.truth("/conflicts/0/reserved"));
    EXPECT_EQ(answer.number("/queue_position"), 1);
    EXPECT_EQ(answer.number("/retry_in_ms"), 50'000);
}

TEST(LeaseRoutes, renew_one) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "r", "alice");
    door.advance(50s);
    const Answer answer =
        client.ask("POST", lease_path(id, "heartbeat"), R"({"holder":"alice","ttl_ms":12000,"client_time_ms":5})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.text("/result"), "RENEWED");
    EXPECT_EQ(answer.text("/lease/id"), id);
    EXPECT_EQ(answer.number("/lease/timeline/expires_in_ms"), 12'000);
    EXPECT_EQ(answer.number("/lease/timeline/renew_at_ms"), 4'005);
}

TEST(LeaseRoutes, reject_a_renewal_with_the_reason) {
    TestDoor door;
    TestClient client = door.connect();
    const auto renew = [&](const std::string& id, const char* more = "") {
        return client.ask("POST", lease_path(id, "heartbeat"), std::string(R"({"holder":"alice")") + more + "}");
    };
    const std::string expired = take(client, "expired", "alice", R"(,"ttl_ms":1000)");
    door.advance(2s);
    const std::string others = take(client, "others", "bob");
    const std::string released = take(client, "released", "alice");
    const std::string revoked = take(client, "revoked", "alice");
    const std::string barred = take(client, "barred", "alice");
    const std::string mine = take(client, "mine", "alice");
    EXPECT_EQ(client.ask("DELETE", lease_path(released) + "?holder=alice").status, 200);
    EXPECT_EQ(client.ask("POST", lease_path(revoked, "revoke")).status, 200);
    EXPECT_EQ(client.ask("POST", lease_path(barred, "bar")).status, 200);
    const auto expect = [](const Answer& answer, int status, const char* code) {
        EXPECT_EQ(answer.status, status) << answer.body;
        EXPECT_EQ(answer.code(), code);
        EXPECT_EQ(answer.text("/result"), "REJECTED");
    };
    expect(renew("unknown#17"), 404, "unknown_lease");
    expect(renew(expired), 410, "lease_expired");
    expect(renew(released), 410, "lease_released");
    expect(renew(revoked), 410, "lease_revoked");
    expect(renew(others), 403, "not_holder");
    expect(renew(barred), 403, "renewal_barred");
    expect(renew(mine, R"(,"ttl_ms":0)"), 422, "ttl_too_short");
    ASSERT_EQ(client.ask("PATCH", "/v1/policy", R"({"ttl_over_max":"reject"})").status, 200);
    expect(renew(mine, R"(,"ttl_ms":900000)"), 422, "ttl_too_long");
    ASSERT_EQ(client.ask("PATCH", "/v1/policy", R"({"name_pattern":"other.*"})").status, 200);
    expect(renew(mine), 403, "name_refused");
    ASSERT_EQ(client.ask("PUT", "/v1/bans/alice").status, 200);
    expect(renew(mine), 403, "banned");
}

TEST(LeaseRoutes, renew_many_with_an_answer_each) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "a", "alice");
    const Answer answer =
        client.ask("POST", "/v1/heartbeat", R"({"holder":"alice","leases":[")" + id + R"(","gone#18"],"ttl_ms":5000})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.number("/renewed"), 1);
    EXPECT_EQ(answer.number("/rejected"), 1);
    EXPECT_EQ(answer.text("/results/0/id"), id);
    EXPECT_EQ(answer.text("/results/0/result"), "RENEWED");
    EXPECT_EQ(answer.number("/results/0/lease/ttl_ms"), 5000);
    EXPECT_EQ(answer.text("/results/1/id"), "gone#18");
    EXPECT_EQ(answer.text("/results/1/result"), "REJECTED");
    EXPECT_EQ(answer.text("/results/1/error/code"), "unknown_lease");
}

TEST(LeaseRoutes, renew_all_of_a_holder) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "a", "alice");
    take(client, "b", "alice");
    take(client, "c", "bob");
    const Answer answer = client.ask("POST", "/v1/heartbeat", R"({"holder":"alice"})");
    EXPECT_EQ(answer.number("/renewed"), 2);
    EXPECT_EQ(answer.size("/results"), 2U);
    EXPECT_EQ(client.ask("POST", "/v1/heartbeat", R"({"holder":"nobody"})").size("/results"), 0U);
    EXPECT_EQ(client.ask("POST", "/v1/heartbeat", R"({"holder":"alice","leases":[]})").size("/results"), 0U);
}

TEST(LeaseRoutes, release_as_often_as_one_likes) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "r", "alice");
    const Answer others = client.ask("DELETE", lease_path(id) + "?holder=bob");
    EXPECT_EQ(others.status, 403);
    EXPECT_EQ(others.code(), "not_holder");
    const Answer first = client.ask("DELETE", lease_path(id) + "?holder=alice");
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(first.text("/id"), id);
    EXPECT_TRUE(first.truth("/released"));
    EXPECT_EQ(first.text("/state"), "RELEASED");
    const Answer again = client.ask("DELETE", lease_path(id), R"({"holder":"alice"})");
    EXPECT_EQ(again.status, 200);
    EXPECT_FALSE(again.truth("/released"));
    EXPECT_EQ(again.text("/state"), "RELEASED");
    EXPECT_EQ(client.ask("DELETE", lease_path("never#5") + "?holder=alice").text("/state"), "UNKNOWN");
}

TEST(LeaseRoutes, want_the_holder_of_a_release_once) {
    TestDoor door;
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("DELETE", lease_path("r#1")).code(), "invalid_argument");
    EXPECT_EQ(client.ask("DELETE", lease_path("r#1") + "?holder=a", R"({"holder":"a"})").code(), "invalid_argument");
}

TEST(LeaseRoutes, show_a_lease_while_it_is_active_and_after) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string id = take(client, "r", "alice", R"(,"ttl_ms":1000)");
    const Answer active = client.ask("GET", lease_path(id));
    ASSERT_EQ(active.status, 200);
    EXPECT_EQ(active.text("/lease/state"), "ACTIVE");
    EXPECT_EQ(active.text("/lease/holder"), "alice");
    door.advance(3s);
    const Answer ended = client.ask("GET", lease_path(id));
    ASSERT_EQ(ended.status, 200);
    EXPECT_EQ(ended.text("/lease/id"), id);
    EXPECT_EQ(ended.text("/lease/state"), "EXPIRED");
    EXPECT_EQ(ended.number("/lease/ended_ago_ms"), 2000);
    EXPECT_EQ(ended.size("/lease"), 6U);
    door.advance(6min);
    const Answer forgotten = client.ask("GET", lease_path(id));
    EXPECT_EQ(forgotten.status, 404);
    EXPECT_EQ(forgotten.code(), "unknown_lease");
}

TEST(LeaseRoutes, list_in_pages_each_lease_once) {
    TestDoor door;
    TestClient client = door.connect();
    for (int i = 0; i < 50; ++i)
        take(client, "job/" + std::to_string(i), i % 2 == 0 ? "even" : "odd");
    std::map<std::string, int> seen;
    std::string after;
    for (int pages = 0; pages < 1000; ++pages) {
        const Answer page = client.ask("GET", "/v1/leases?limit=7" + (after.empty() ? "" : "&after=" + after));
        ASSERT_EQ(page.status, 200) << page.body;
        ASSERT_LE(page.size("/leases"), 7U);
        for (std::size_t i = 0; i < page.size("/leases"); ++i)
            ++seen[page.text("/leases/" + std::to_string(i) + "/resource")];
        if (page.is_null("/next")) break;
        after = page.text("/next");
    }
    EXPECT_EQ(seen.size(), 50U);
    for (const auto& [resource, times] : seen)
        EXPECT_EQ(times, 1) << resource;
}

TEST(LeaseRoutes, list_what_the_filters_leave) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "job/1", "alice");
    take(client, "job/2", "bob");
    take(client, "other", "alice");
    take(client, "job/3", "alice", R"(,"namespace":"ns")");
    EXPECT_EQ(client.ask("GET", "/v1/leases").size("/leases"), 4U);
    EXPECT_EQ(client.ask("GET", "/v1/leases?holder=alice").size("/leases"), 3U);
    EXPECT_EQ(client.ask("GET", "/v1/leases?prefix=job%2F").size("/leases"), 3U);
    EXPECT_EQ(client.ask("GET", "/v1/leases?namespace=ns").text("/leases/0/resource"), "job/3");
    EXPECT_EQ(client.ask("GET", "/v1/leases?namespace=default&prefix=job/&holder=alice").size("/leases"), 1U);
    EXPECT_EQ(client.ask("GET", "/v1/leases?holder=nobody").size("/leases"), 0U);
}

TEST(LeaseRoutes, verify_by_name_and_by_holder) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string old = take(client, "a", "alice", R"(,"ttl_ms":1000)");
    door.advance(2s);
    take(client, "a", "bob");
    const std::string mine = take(client, "b", "alice");
    const Answer answer = client.ask("POST", "/v1/verify", R"({"leases":[")" + old + R"(",")" + mine + R"("]})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.text("/results/0/id"), old);
    EXPECT_EQ(answer.text("/results/0/state"), "EXPIRED");
    EXPECT_FALSE(answer.has("/results/0/holder"));
    EXPECT_EQ(answer.text("/results/0/current/0/holder"), "bob");
    EXPECT_EQ(answer.text("/results/0/current/0/predicate"), "MUTATES");
    EXPECT_EQ(answer.number("/results/0/current/0/expires_in_ms"), 60'000);
    EXPECT_EQ(answer.text("/results/1/state"), "ACTIVE");
    EXPECT_EQ(answer.text("/results/1/holder"), "alice");
    EXPECT_EQ(answer.number("/results/1/expires_in_ms"), 60'000);
    const Answer by_holder = client.ask("POST", "/v1/verify", R"({"holder":"alice"})");
    ASSERT_EQ(by_holder.size("/results"), 1U);
    EXPECT_EQ(by_holder.text("/results/0/id"), mine);
    EXPECT_EQ(client.ask("POST", "/v1/verify", R"({"leases":["x#1"]})").text("/results/0/state"), "UNKNOWN");
    EXPECT_EQ(client.ask("POST", "/v1/verify", "{}").code(), "invalid_argument");
}

TEST(LeaseRoutes, return_the_first_answer_for_a_repeated_idempotency_key) {
    TestDoor door;
    TestClient client = door.connect();
    const std::string body = R"({"holder":"alice","resource":"r","idempotency_key":"k"})";
    const Answer first = client.ask("POST", "/v1/leases", body);
    const Answer again = client.ask("POST", "/v1/leases", body);
    EXPECT_EQ(again.status, 201) << again.body;
    EXPECT_EQ(again.text("/leases/0/id"), first.text("/leases/0/id"));
    const Answer other = client.ask("POST", "/v1/leases", R"({"holder":"alice","resource":"q","idempotency_key":"k"})");
    EXPECT_EQ(other.status, 422);
    EXPECT_EQ(other.code(), "idempotency_mismatch");
}

TEST(LeaseRoutes, say_that_the_first_request_with_the_key_still_waits) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "r", "bob");
    TestClient waiting = door.connect();
    const std::string body = R"({"holder":"alice","resource":"r","wait_ms":60000,"idempotency_key":"k"})";
    waiting.send(request_text("POST", "/v1/leases", body));
    door.wait_for_waiters(1);
    const Answer again = client.ask("POST", "/v1/leases", body);
    EXPECT_EQ(again.status, 409);
    EXPECT_EQ(again.text("/verdict"), "REFUSED");
    EXPECT_EQ(again.code(), "idempotency_in_progress");
}

TEST(LeaseRoutes, take_any_name_percent_encoded) {
    TestDoor door;
    TestClient client = door.connect();
    for (const std::string name :
         {"a#b", "a/b/c", "x@y", "two words", "größe/π ☃", "100%", "a#1/heartbeat", "q?x=1&y", "+plus+", "#5", "a#7"}) {
        const std::string id = take(client, name, "alice");
        EXPECT_EQ(client.ask("GET", lease_path(id)).text("/lease/id"), id);
        EXPECT_EQ(client.ask("POST", lease_path(id, "heartbeat"), R"({"holder":"alice"})").status, 200) << name;
        EXPECT_EQ(client.ask("DELETE", lease_path(id) + "?holder=alice").text("/state"), "RELEASED") << name;
    }
}

TEST(LeaseRoutes, let_slashes_stand_raw_in_a_name) {
    TestDoor door;
    TestClient client = door.connect();
    for (const std::string name : {"FILE:/src/main.c", "a#1/heartbeat", "/", "//x//"}) {
        const std::string id = take(client, name, "alice");
        std::string raw = percent_encode(id);
        for (std::size_t at = 0; (at = raw.find("%2F", at)) != std::string::npos;)
            raw.replace(at, 3, "/");
        EXPECT_EQ(client.ask("GET", "/v1/leases/" + raw).text("/lease/id"), id);
        EXPECT_EQ(client.ask("POST", "/v1/leases/" + raw + "/heartbeat", R"({"holder":"alice"})").status, 200) << name;
    }
    const std::string id = take(client, "job", "alice", R"(,"namespace":"ns")");
    EXPECT_EQ(client.ask("GET", "/v1/leases/@ns/job%23" + id.substr(8)).text("/lease/namespace"), "ns");
}

TEST(LeaseRoutes, keep_namespaces_apart) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "r", "alice");
    take(client, "r", "bob", R"(,"namespace":"ns")");
    const Answer busy = client.ask("POST", "/v1/leases", R"({"holder":"c","resource":"r","namespace":"ns"})");
    EXPECT_EQ(busy.text("/conflicts/0/holder"), "bob");
    EXPECT_EQ(busy.text("/conflicts/0/resource"), "r");
}

}  // namespace
}  // namespace holdfast::doors::http
