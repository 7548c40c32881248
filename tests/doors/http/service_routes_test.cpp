#include <set>

#include "base/text.h"
#include "doors/http/service_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(ServiceRoutes, register_renew_and_unregister_what_was_signed) {
    TestDoor door;
    TestClient client = door.connect();
    HttpPublisher anna(door.connect());
    const Answer entered =
        anna.enter("web", R"(,"address":"10.0.0.7:80","alpn":["http/1.1"],"metadata":{"version":"7"})");
    ASSERT_EQ(entered.status, 201) << entered.body;
    EXPECT_EQ(entered.text("/name"), "web");
    EXPECT_EQ(entered.number("/ttl_ms"), 30'000);
    EXPECT_EQ(entered.number("/renew_in_ms"), 5'000);
    EXPECT_EQ(entered.text("/relay"), "000000000000feed");
    const Answer found = client.ask("GET", "/v1/services/web");
    ASSERT_EQ(found.status, 200) << found.body;
    EXPECT_EQ(found.text("/service/identity"), anna.id());
    EXPECT_EQ(found.text("/service/address"), "10.0.0.7:80");
    EXPECT_EQ(found.text("/service/alpn/0"), "http/1.1");
    EXPECT_EQ(found.text("/service/metadata/version"), "7");
    EXPECT_EQ(found.text("/service/first_seen"), "2025-11-15T12:00:00.000Z");
    EXPECT_FALSE(found.truth("/service/connected"));
    EXPECT_TRUE(found.truth("/service/stale"));
    door.advance(10s);
    const Answer renewed = anna.renew("web", entered.number("/token"));
    EXPECT_EQ(renewed.status, 200) << renewed.body;
    EXPECT_EQ(renewed.number("/expires_in_ms"), 30'000);
    EXPECT_EQ(client.ask("GET", "/v1/services/web").text("/service/last_seen"), "2025-11-15T12:00:10.000Z");
    const Answer left = anna.leave("web", entered.number("/token"));
    EXPECT_EQ(left.status, 200) << left.body;
    EXPECT_FALSE(left.has("/token"));
    EXPECT_EQ(client.ask("GET", "/v1/services/web").code(), "unknown_service");
    const Answer late = anna.renew("web", entered.number("/token"));
    EXPECT_EQ(late.status, 410);
    EXPECT_EQ(late.code(), "lease_released");
}

TEST(ServiceRoutes, refuse_with_a_code_by_cause_and_what_to_sign_for) {
    TestDoor door;
    HttpPublisher anna(door.connect());
    HttpPublisher ben(door.connect());
    anna.enter("web");
    const Answer taken = ben.enter("web");
    EXPECT_EQ(taken.status, 409);
    EXPECT_EQ(taken.code(), "name_taken");
    EXPECT_EQ(taken.text("/relay"), "000000000000feed");
    EXPECT_GT(taken.number("/retry_in_ms"), 0);
    const std::string body = ben.body(R"("action":"register","name":"db")");
    const Answer forged = ben.post(body, anna.signature(body + " "));
    EXPECT_EQ(forged.status, 401);
    EXPECT_EQ(forged.code(), "bad_signature");
    EXPECT_EQ(ben.post(body, "").code(), "bad_signature");
    EXPECT_EQ(ben.post(body, "a.b").code(), "bad_signature");
    EXPECT_EQ(ben.post(body, "AAAA." + ben.signature(body).substr(44)).code(), "invalid_identity");
    EXPECT_EQ(ben.post(body, ben.signature(body)).status, 201);
    EXPECT_EQ(ben.post(body, ben.signature(body)).code(), "replayed");
    const std::string elsewhere =
        R"({"action":"register","name":"x","relay":"00000000000000aa","time_ms":0,"nonce":"00000000000000ff"})";
    EXPECT_EQ(ben.post(elsewhere, ben.signature(elsewhere)).code(), "other_relay");
    const std::string old =
        R"({"action":"register","name":"x","relay":"000000000000feed","time_ms":0,"nonce":"00000000000000ff"})";
    EXPECT_EQ(ben.post(old, ben.signature(old)).code(), "clock_apart");
    EXPECT_EQ(ben.enter("a/b").code(), "invalid_name");
    EXPECT_EQ(ben.enter("x", R"(,"alpn":[""])").code(), "invalid_alpn");
    EXPECT_EQ(ben.enter("x", R"(,"metadata":{"":"v"})").code(), "invalid_metadata");
    EXPECT_EQ(ben.enter("x", R"(,"metadata":{"k":7})").code(), "invalid_argument");
    EXPECT_EQ(ben.enter("x", R"(,"colour":"red")").code(), "unknown_field");
    EXPECT_EQ(ben.say(R"("action":"steal","name":"x")").code(), "invalid_argument");
    EXPECT_EQ(ben.enter("x", R"(,"ttl_ms":900000)").number("/ttl_ms"), 300'000);
}

TEST(ServiceRoutes, list_by_pattern_in_pages) {
    TestDoor door;
    TestClient client = door.connect();
    HttpPublisher anna(door.connect());
    for (const char* name : {"web-1", "web-2", "web-3", "db", "relay", "caf\xc3\xa9"})
        ASSERT_EQ(anna.enter(name).status, 201);
    for (const char* path : {"/v1/services?name=web-*", "/v1/service-events?name=*"})
        EXPECT_EQ(client.ask("GET", path + std::string(64, 'x')).code(), "invalid_argument") << "too much behind the *";
    const Answer page = client.ask("GET", "/v1/services?name=web-*&limit=2");
    EXPECT_EQ(page.size("/services"), 2U);
    EXPECT_EQ(page.text("/services/0/name"), "web-1");
    EXPECT_EQ(page.text("/next"), "web-2");
    const Answer rest = client.ask("GET", "/v1/services?name=web-*&limit=2&after=web-2");
    EXPECT_EQ(rest.size("/services"), 1U);
    EXPECT_TRUE(rest.is_null("/next"));
    EXPECT_EQ(client.ask("GET", "/v1/services").size("/services"), 6U);
    EXPECT_EQ(client.ask("GET", "/v1/services/cafe%CC%81").text("/service/name"), "caf\xc3\xa9");
    EXPECT_TRUE(client.ask("GET", "/v1/relay").has("/time_ms"));
    EXPECT_EQ(client.ask("GET", "/v1/services/relay").text("/service/name"), "relay");
    EXPECT_EQ(client.ask("GET", "/v1/services/a%2Fb").code(), "invalid_name");
    EXPECT_EQ(client.ask("GET", "/v1/services?limit=0").code(), "invalid_argument");
}

TEST(ServiceRoutes, stream_what_is_there_and_then_what_changes) {
    TestDoor door;
    TestClient client = door.connect();
    HttpPublisher anna(door.connect());
    anna.enter("db");
    anna.enter("web-1");
    TestClient watcher = door.connect();
    watcher.send(request_text("GET", "/v1/service-events?name=web-*"));
    EXPECT_EQ(watcher.read_head().headers.at("content-type"), "text/event-stream");
    StreamEvent event = read_real_event(watcher);
    EXPECT_EQ(event.type, "service");
    EXPECT_NE(event.data.find("\"name\":\"web-1\""), std::string::npos) << event.data;
    EXPECT_EQ(read_real_event(watcher).type, "listed");
    const Answer second = anna.enter("web-2");
    EXPECT_EQ(read_real_event(watcher).type, "registered");
    anna.enter("web-2");
    EXPECT_EQ(read_real_event(watcher).type, "updated");
    anna.enter("db");
    client.ask("PUT", "/v1/bans/" + anna.id(), "{}");
    for (const char* name : {"web-1", "web-2"}) {
        event = read_real_event(watcher);
        EXPECT_EQ(event.type, "gone");
        EXPECT_NE(event.data.find(name), std::string::npos) << event.data;
    }
    EXPECT_EQ(client.ask("GET", "/v1/services").size("/services"), 0U);
    watcher.close();
    door.stop();
}

TEST(ServiceRoutes, stream_more_services_than_one_piece_holds_to_whoever_reads_slowly) {
    TestDoor door;
    HttpPublisher anna(door.connect());
    const std::string long_text(3000, 'x');
    for (int i = 0; i < 500; ++i)
        ASSERT_EQ(anna.enter("s" + std::to_string(i), R"(,"metadata":{"k":")" + long_text + "\"}").status, 201);
    TestClient watcher = door.connect(4096);
    watcher.send(request_text("GET", "/v1/service-events"));
    watcher.read_head();
    std::set<std::string> seen;
    for (StreamEvent event = read_real_event(watcher); event.type == "service"; event = read_real_event(watcher))
        seen.insert(event.data.substr(0, 20));
    EXPECT_EQ(seen.size(), 500U) << "each once, though all together are more than a stream may have waiting";
}

TEST(ServiceRoutes, leave_no_other_door_to_what_was_signed_for) {
    TestDoor door;
    TestClient client = door.connect();
    HttpPublisher anna(door.connect());
    const std::int64_t token = anna.enter("web").number("/token");
    const std::string id = "@~services/web#" + std::to_string(token);
    const auto expect_refused = [](const Answer& answer) {
        EXPECT_EQ(answer.status, 403) << answer.body;
        EXPECT_EQ(answer.code(), "reserved_namespace") << answer.body;
    };
    expect_refused(client.ask("POST", "/v1/leases", R"({"holder":"eve","namespace":"~services","resource":"web"})"));
    expect_refused(client.ask("POST", "/v1/leases", R"({"holder":"eve","namespace":"~other","resource":"x"})"));
    const std::string as_anna = R"({"holder":")" + anna.id() + "\"}";
    expect_refused(client.ask("POST", lease_path(id, "heartbeat"), as_anna));
    expect_refused(client.ask("DELETE", lease_path(id) + "?holder=" + anna.id()));
    const Answer beats = client.ask("POST", "/v1/heartbeat", as_anna);
    EXPECT_EQ(beats.text("/results/0/error/code"), "reserved_namespace") << beats.body;
    expect_refused(client.ask("POST", "/v1/connect",
                              R"({"key":{"namespace":"~services","name":"web"},"spawn":{"command":"true"}})"));
    EXPECT_EQ(client.ask("GET", lease_path(id)).status, 200) << "to look is allowed";
    EXPECT_EQ(client.ask("GET", "/v1/leases?namespace=~services").size("/leases"), 1U);
    expect_refused(client.ask("POST", lease_path(id, "bar"), "{}"));
    expect_refused(client.ask("POST", lease_path(id, "revoke"), "{}"));
    EXPECT_EQ(anna.renew("web", token).status, 200);
    EXPECT_EQ(client.ask("GET", "/v1/services/web").status, 200);
}

TEST(ApprovalRoutes, show_who_waits_and_let_an_admin_approve_or_deny) {
    TestDoor door;
    TestClient client = door.connect();
    HttpPublisher anna(door.connect());
    HttpPublisher ben(door.connect());
    EXPECT_EQ(client.ask("GET", "/v1/policy").text("/approval"), "auto");
    EXPECT_EQ(client.ask("PATCH", "/v1/policy", R"({"approval":"maybe"})").code(), "invalid_argument");
    EXPECT_EQ(client.ask("PATCH", "/v1/policy", R"({"approval":"manual"})").text("/approval"), "manual");
    EXPECT_EQ(anna.enter("web").code(), "awaiting_approval");
    EXPECT_EQ(ben.enter("db").status, 403);
    Answer approvals = client.ask("GET", "/v1/approvals");
    EXPECT_EQ(approvals.text("/approval"), "manual");
    ASSERT_EQ(approvals.size("/waiting"), 2U);
    EXPECT_EQ(approvals.text("/waiting/0/identity"), anna.id());
    EXPECT_EQ(approvals.text("/waiting/0/name"), "web");
    EXPECT_EQ(approvals.text("/waiting/0/address"), "127.0.0.1");
    EXPECT_TRUE(client.ask("PUT", "/v1/approvals/" + anna.id()).truth("/changed"));
    EXPECT_FALSE(client.ask("PUT", "/v1/approvals/" + anna.id()).truth("/changed"));
    EXPECT_EQ(anna.enter("web").status, 201);
    EXPECT_EQ(client.ask("DELETE", "/v1/approvals/" + ben.id()).text("/reason"), "denied");
    EXPECT_EQ(ben.enter("db").code(), "banned");
    approvals = client.ask("GET", "/v1/approvals");
    EXPECT_EQ(approvals.size("/waiting"), 0U);
    EXPECT_EQ(approvals.text("/approved/0"), anna.id());
    client.ask("DELETE", "/v1/approvals/" + anna.id());
    EXPECT_EQ(client.ask("GET", "/v1/services/web").code(), "unknown_service");
    EXPECT_EQ(client.ask("PUT", "/v1/approvals/anna").code(), "invalid_identity");
    std::vector<std::string> done;
    door.run([&] {
        for (const store::AuditEntry& entry : door.durable().audited)
            done.push_back(entry.what);
    });
    EXPECT_EQ(done, (std::vector<std::string>{"change policy: approval=manual", "approve " + anna.id(),
                                              "approve " + anna.id(), "deny " + ben.id(), "deny " + anna.id()}));
}

TEST(ServiceRuleRoutes, deny_reserve_list_and_lift_and_are_audited) {  // D5
    TestDoor door;
    TestClient client = door.connect();
    HttpPublisher anna(door.connect());
    HttpPublisher ben(door.connect());
    ASSERT_EQ(anna.enter("web").status, 201);
    EXPECT_EQ(client.ask("GET", "/v1/service-rules").size("/rules"), 0U);
    const Answer denied = client.ask("PUT", "/v1/service-rules/web",
                                     R"({"rule":"denied","reason":"the shop's","identity":")" + anna.id() + R"("})");
    ASSERT_EQ(denied.status, 200) << denied.body;
    EXPECT_EQ(denied.text("/rule"), "denied");
    EXPECT_EQ(client.ask("GET", "/v1/services/web").code(), "unknown_service");
    const Answer refused = anna.enter("web");
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(refused.code(), "name_denied");
    EXPECT_NE(refused.body.find("the shop's"), std::string::npos) << refused.body;
    ASSERT_EQ(
        client.ask("PUT", "/v1/service-rules/db", R"({"rule":"reserved","identity":")" + ben.id() + R"("})").status,
        200);
    EXPECT_EQ(anna.enter("db").code(), "name_denied");
    EXPECT_EQ(ben.enter("db").status, 201);
    const Answer first = client.ask("GET", "/v1/service-rules?limit=1");
    EXPECT_EQ(first.text("/rules/0/name"), "db");
    EXPECT_EQ(first.text("/rules/0/rule"), "reserved");
    const Answer second = client.ask("GET", "/v1/service-rules?after=" + percent_encode(first.text("/next")));
    ASSERT_EQ(second.size("/rules"), 1U) << second.body;
    EXPECT_EQ(second.text("/rules/0/identity"), anna.id());
    EXPECT_EQ(second.text("/rules/0/reason"), "the shop's");
    EXPECT_EQ(client.ask("DELETE", "/v1/service-rules/web?identity=" + ben.id()).number("/lifted"), 0);
    EXPECT_EQ(client.ask("DELETE", "/v1/service-rules/web").number("/lifted"), 1);
    EXPECT_EQ(anna.enter("web").status, 201);
    EXPECT_EQ(client.ask("PUT", "/v1/service-rules/web", R"({"rule":"maybe"})").code(), "invalid_argument");
    EXPECT_EQ(client.ask("PUT", "/v1/service-rules/web", R"({"rule":"reserved"})").code(), "invalid_argument");
    EXPECT_EQ(client.ask("PUT", "/v1/service-rules/web", R"({"rule":"denied","identity":"x"})").code(),
              "invalid_identity");
    EXPECT_EQ(client.ask("PUT", "/v1/service-rules/a%2Fb", R"({"rule":"denied"})").code(), "invalid_name");
    std::vector<std::string> done;
    door.run([&] {
        for (const store::AuditEntry& entry : door.durable().audited)
            done.push_back(entry.what);
    });
    EXPECT_EQ(done,
              (std::vector<std::string>{"deny the service name web to " + anna.id() + ": the shop's",
                                        "reserve the service name db for " + ben.id(),
                                        "allow the service name web to " + ben.id(), "allow the service name web"}));
}

TEST(BanRoutes, take_an_address_or_a_prefix_in_any_spelling_and_keep_one) {
    TestDoor door;
    TestClient client = door.connect();
    HttpPublisher anna(door.connect());
    anna.enter("web");
    EXPECT_EQ(client.ask("PUT", "/v1/bans/127.0.0.99/8", "{}").text("/holder"), "127.0.0.0/8");
    EXPECT_EQ(client.ask("GET", "/v1/services").size("/services"), 0U);
    EXPECT_EQ(anna.enter("db").code(), "banned");
    EXPECT_EQ(client.ask("GET", "/v1/bans/127.1.1.1%2F8").text("/holder"), "127.0.0.0/8");
    EXPECT_TRUE(client.ask("DELETE", "/v1/bans/127.0.0.0/8").truth("/unbanned"));
    EXPECT_EQ(client.ask("GET", "/v1/services").size("/services"), 1U);
    EXPECT_EQ(anna.enter("db").status, 201);
}

TEST(BanRoutes, refuse_an_address_that_is_none) {
    TestDoor door;
    TestClient client = door.connect();
    for (const char* malformed : {"300.1.1.1", "10.0.0.0/99", "2001:db8::/129"}) {
        const Answer refused = client.ask("PUT", "/v1/bans/" + percent_encode(malformed), "{}");
        EXPECT_EQ(refused.status, 400) << refused.body;
        EXPECT_EQ(refused.code(), "invalid_argument");
    }
    EXPECT_EQ(client.ask("GET", "/v1/bans").size("/bans"), 0U);
    EXPECT_EQ(client.ask("PUT", "/v1/bans/mallory", "{}").status, 200);
}

TEST(ServiceRoutes, are_counted) {
    TestDoor door;
    HttpPublisher anna(door.connect());
    anna.enter("web");
    anna.enter("a/b");
    const std::string text = door.metrics_text();
    EXPECT_NE(text.find("holdfast_service_updates_total{outcome=\"ok\"} 1"), std::string::npos) << text;
    EXPECT_NE(text.find("holdfast_service_updates_total{outcome=\"refused\"} 1"), std::string::npos);
    EXPECT_NE(text.find("holdfast_services_connected 0"), std::string::npos);
    EXPECT_EQ(door.metrics_text().find("holdfast_service_updates_total{outcome=\"ok\"} 2"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::doors::http
