#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

/// Every answer to bad input is 400 with a code, and the connection goes on.
class Input : public testing::Test {
 protected:
    TestDoor door;
    TestClient client = door.connect();

    void expect_refused(const std::string& body, const char* code, const char* named = "") {
        expect_refused("POST", "/v1/leases", body, code, named);
    }
    void expect_refused(const char* method, const std::string& target, const std::string& body, const char* code,
                        const char* named = "") {
        const Answer answer = client.ask(method, target, body);
        EXPECT_EQ(answer.status, 400) << body.substr(0, 200) << "\n" << answer.body;
        EXPECT_EQ(answer.code(), code) << body.substr(0, 200) << "\n" << answer.body;
        EXPECT_NE(answer.text("/error/message").find(named), std::string::npos) << answer.body;
    }
    static std::string quoted(const std::string& text) { return '"' + text + '"'; }
};

TEST_F(Input, that_is_not_json_is_refused) {
    for (const char* body :
         {"{", "}", "[]", "1", "null", "\"x\"", "{\"holder\":}", "{'holder':'a'}", "{\"holder\":\"a\",}", "{} {}", " ",
          "{\"a\":01}", "// comment\n{}", "{\"a\":NaN}", "\xef\xbb\xbf{}"})
        expect_refused(body, "invalid_json");
    expect_refused(std::string("{\"holder\":\"a\0b\"}", 16), "invalid_json");
}

TEST_F(Input, that_is_not_utf8_is_refused) {
    for (const char* text : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\x80"})
        expect_refused(std::string(R"({"holder":"a","resource":")") + text + "\"}", "invalid_json");
    expect_refused("GET", "/v1/leases?holder=%ff", "", "invalid_argument", "holder");
    expect_refused("GET", "/v1/leases/%ff%231", "", "invalid_argument");
    expect_refused("GET", "/v1/leases?%ff=1", "", "unknown_field", "%FF");
}

TEST_F(Input, with_control_characters_is_refused) {
    expect_refused(R"({"holder":"a\u0000","resource":"r"})", "invalid_argument", "holder");
    expect_refused(R"({"holder":"a","resource":"r\n"})", "invalid_argument", "resource");
    expect_refused(R"({"holder":"a","resource":"r","reason":"\u007f"})", "invalid_argument", "reason");
}

TEST_F(Input, with_unknown_fields_is_refused) {
    expect_refused(R"({"holder":"a","resource":"r","ttl":60000})", "unknown_field", "ttl");
    expect_refused(R"({"hodler":"a","resource":"r"})", "unknown_field", "hodler");
    expect_refused(R"({"holder":"a","intents":[{"resource":"r","mode":"x"}]})", "unknown_field", "intents[0].mode");
    expect_refused("POST", "/v1/heartbeat", R"({"holder":"a","lease":[]})", "unknown_field", "lease");
    expect_refused("POST", "/v1/leases?ttl_ms=5", R"({"holder":"a","resource":"r"})", "unknown_field", "ttl_ms");
    expect_refused("GET", "/v1/leases?hodler=a", "", "unknown_field", "hodler");
    expect_refused("PUT", "/v1/agents/a", R"({"age":5})", "unknown_field", "age");
    expect_refused("POST", "/v1/agents/a/restarting", R"({"priority":5})", "unknown_field", "priority");
    expect_refused("DELETE", "/v1/agents/a?epoch=1", "", "unknown_field", "epoch");
    expect_refused("GET", "/v1/agents?holder=a", "", "unknown_field", "holder");
    expect_refused("POST", "/v1/heartbeat", R"({"holder":"a","leases":[{"id":"r#1","ttl_ms":5}]})", "unknown_field",
                   "leases[0].ttl_ms");
    expect_refused("GET", "/health?verbose=1", "", "unknown_field", "verbose");
    expect_refused("GET", "/health", R"({"x":1})", "unknown_field", "x");
}

TEST_F(Input, that_says_something_twice_is_refused) {
    expect_refused(R"({"holder":"a","holder":"b","resource":"r"})", "invalid_json", "repeated");
    expect_refused(R"({"holder":"a","resource":"r","metadata":{"x":1,"x":2}})", "invalid_json", "repeated");
    expect_refused("GET", "/v1/leases?holder=a&holder=b", "", "invalid_argument", "holder");
    expect_refused("GET", "/v1/leases?holder=a&h%6Flder=a", "", "invalid_argument", "holder");
    expect_refused(R"({"holder":"a","resource":"r","intents":[{"resource":"r"}]})", "invalid_argument", "intents");
}

TEST_F(Input, with_numbers_that_are_not_whole_or_out_of_range_is_refused) {
    for (const char* number : {"-1", "1.5", "6e4", "60000.0", "\"60000\"", "1000000000001", "18446744073709551616",
                               "99999999999999999999999", "true", "null", "[]", "-0", "1e-3"}) {
        for (const char* field : {"ttl_ms", "wait_ms"})
            expect_refused(std::string(R"({"holder":"a","resource":"r",")") + field + "\":" + number + "}",
                           "invalid_argument", field);
    }
    expect_refused(R"({"holder":"a","resource":"r","client_time_ms":9000000000000001})", "invalid_argument",
                   "client_time_ms");
    expect_refused(R"({"holder":"a","resource":"r","client_time_ms":-5})", "invalid_argument", "client_time_ms");
    for (const char* number : {"-1", "1.5", "1e3", "\"1\"", "9007199254740992", "99999999999999999999", "null", "-0"}) {
        for (const char* field : {"epoch", "progress"})
            expect_refused(std::string(R"({"holder":"a","resource":"r",")") + field + "\":" + number + "}",
                           "invalid_argument", field);
        expect_refused("PUT", "/v1/agents/a", std::string("{\"epoch\":") + number + "}", "invalid_argument", "epoch");
        expect_refused("POST", "/v1/heartbeat",
                       std::string(R"({"holder":"a","leases":[{"id":"r#1","progress":)") + number + "}]}",
                       "invalid_argument", "leases[0].progress");
    }
    for (const char* number : {"9000000000000001", "-9000000000000001", "1.5", "-1e3", "\"1\"", "null", "-0",
                               "-99999999999999999999", "99999999999999999999"})
        expect_refused("PUT", "/v1/agents/a", std::string("{\"priority\":") + number + "}", "invalid_argument",
                       "priority");
    for (const char* epoch : {"0", "-1", "x", "", "9007199254740992"})
        expect_refused("DELETE", std::string("/v1/leases/r%231?holder=a&epoch=") + epoch, "", "invalid_argument",
                       "epoch");
    expect_refused(R"({"holder":"a","resource":"r","epoch":0})", "invalid_argument", "epoch");
    for (const char* limit : {"0", "1001", "-1", "1.5", "x", "", "99999999999999999999"})
        expect_refused("GET", std::string("/v1/leases?limit=") + limit, "", "invalid_argument", "limit");
    expect_refused("GET", "/v1/leases?after=x", "", "invalid_argument", "after");
    expect_refused("GET", "/v1/events?renewed=yes", "", "invalid_argument", "renewed");
}

TEST_F(Input, at_the_edge_of_the_ranges_is_taken) {
    EXPECT_EQ(
        client.ask("POST", "/v1/leases", R"({"holder":"a","resource":"r","ttl_ms":1000000000000,"wait_ms":0})").status,
        201);
    EXPECT_EQ(client
                  .ask("POST", "/v1/leases",
                       R"({"holder":"a","resource":"q","client_time_ms":9000000000000000,"wait_ms":1000000000000})")
                  .number("/leases/0/timeline/renew_at_ms"),
              9'000'000'000'020'000);
    EXPECT_EQ(client.ask("POST", "/v1/leases", R"({"holder":"a","resource":"p","progress":9007199254740991})")
                  .number("/leases/0/progress"),
              9'007'199'254'740'991);
    const Answer oldest =
        client.ask("PUT", "/v1/agents/o", R"({"priority":-9000000000000000,"epoch":9007199254740991})");
    EXPECT_EQ(oldest.number("/agent/priority"), -9'000'000'000'000'000);
    EXPECT_EQ(oldest.number("/agent/epoch"), 9'007'199'254'740'991);
    EXPECT_EQ(client.ask("PUT", "/v1/agents/y", R"({"priority":9000000000000000})").number("/agent/priority"),
              9'000'000'000'000'000);
    EXPECT_EQ(client
                  .ask("POST", "/v1/leases",
                       "{\"holder\":" + quoted(std::string(256, 'h')) +
                           ",\"resource\":" + quoted(std::string(4096, 'r')) + "}")
                  .status,
              201);
}

TEST_F(Input, of_the_wrong_type_is_refused) {
    expect_refused(R"({"holder":7,"resource":"r"})", "invalid_argument", "holder");
    expect_refused(R"({"holder":null,"resource":"r"})", "invalid_argument", "holder");
    expect_refused(R"({"holder":"a","resource":["r"]})", "invalid_argument", "resource");
    expect_refused(R"({"holder":"a","intents":{}})", "invalid_argument", "intents");
    expect_refused(R"({"holder":"a","intents":["r"]})", "invalid_argument", "intents[0]");
    expect_refused(R"({"holder":"a","intents":[{"resource":"r","predicate":"EATS"}]})", "invalid_argument",
                   "predicate");
    expect_refused(R"({"holder":"a","resource":"r","metadata":[]})", "invalid_argument", "metadata");
    expect_refused("POST", "/v1/heartbeat", R"({"holder":"a","leases":"x#1"})", "invalid_argument", "leases");
    expect_refused("POST", "/v1/heartbeat", R"({"holder":"a","leases":["x#1",5]})", "invalid_argument", "leases[1]");
    expect_refused("POST", "/v1/verify", R"({"leases":["nonsense"]})", "invalid_argument", "leases[0]");
    expect_refused("POST", "/v1/verify", R"({"leases":["x#1"],"epoch":1})", "invalid_argument", "epoch");
    expect_refused("POST", "/v1/verify", R"({"leases":[{"id":"x#1"}]})", "invalid_argument", "leases[0]");
    expect_refused("POST", "/v1/heartbeat", R"({"holder":"a","leases":[{"id":5}]})", "invalid_argument", "leases[0]");
    expect_refused("POST", "/v1/heartbeat", R"({"holder":"a","leases":[{"progress":5}]})", "invalid_argument",
                   "leases[0].id");
}

TEST_F(Input, that_lacks_something_is_refused) {
    expect_refused("", "invalid_argument", "holder");
    expect_refused(R"({"resource":"r"})", "invalid_argument", "holder");
    expect_refused(R"({"holder":"","resource":"r"})", "invalid_argument", "holder");
    expect_refused(R"({"holder":"a"})", "invalid_argument", "resource");
    expect_refused(R"({"holder":"a","resource":""})", "invalid_argument", "resource");
    expect_refused(R"({"holder":"a","intents":[]})", "invalid_argument", "intents");
    expect_refused(R"({"holder":"a","intents":[{"predicate":"MUTATES"}]})", "invalid_argument", "intents[0].resource");
}

TEST_F(Input, that_hides_a_namespace_in_a_name_is_refused) {
    expect_refused(R"({"holder":"a","resource":"@ns/r"})", "invalid_argument", "@");
    expect_refused(R"({"holder":"a","intents":[{"resource":"@ns/r"}]})", "invalid_argument", "@");
    expect_refused(R"({"holder":"a","namespace":"a/b","resource":"r"})", "invalid_argument", "namespace");
    expect_refused(R"({"holder":"a","namespace":"ns","resource":"@x/r"})", "invalid_argument", "@");
    expect_refused("GET", "/v1/leases?namespace=a%2Fb", "", "invalid_argument", "namespace");
}

TEST_F(Input, over_a_limit_is_refused) {
    const auto with = [](const std::string& field, std::size_t bytes) {
        return R"({"holder":"a","resource":"r",")" + field + "\":" + quoted(std::string(bytes, 'x')) + "}";
    };
    expect_refused("{\"holder\":\"a\",\"resource\":" + quoted(std::string(4097, 'r')) + "}", "invalid_argument",
                   "resource");
    expect_refused("{\"resource\":\"r\",\"holder\":" + quoted(std::string(257, 'h')) + "}", "invalid_argument",
                   "holder");
    expect_refused(with("session", 257), "invalid_argument", "session");
    expect_refused(with("idempotency_key", 257), "invalid_argument", "idempotency_key");
    expect_refused(with("reason", 1025), "invalid_argument", "reason");
    expect_refused(with("namespace", 65), "invalid_argument", "namespace");
    expect_refused(R"({"holder":"a","resource":"r","metadata":{"x":)" + quoted(std::string(8192, 'm')) + "}}",
                   "invalid_argument", "metadata");
    std::string intents, leases;
    for (int i = 0; i < 257; ++i)
        intents += (i ? "," : "") + std::string("{\"resource\":\"r") + std::to_string(i) + "\"}";
    for (int i = 0; i < 1001; ++i)
        leases += (i ? "," : "") + std::string("\"r#1\"");
    expect_refused("{\"holder\":\"a\",\"intents\":[" + intents + "]}", "invalid_argument", "intents");
    expect_refused("POST", "/v1/heartbeat", "{\"holder\":\"a\",\"leases\":[" + leases + "]}", "invalid_argument",
                   "leases");
    expect_refused("POST", "/v1/verify", "{\"leases\":[" + leases + "]}", "invalid_argument", "leases");
}

TEST_F(Input, too_deep_or_too_many_valued_is_refused) {
    const auto nested = [](int depth) {
        return R"({"holder":"a","resource":"r","metadata":)" + [depth] {
            std::string text;
            for (int i = 0; i < depth; ++i)
                text += "{\"x\":";
            return text + "1" + std::string(static_cast<std::size_t>(depth), '}');
        }() + "}";
    };
    EXPECT_EQ(client.ask("POST", "/v1/leases", nested(15)).status, 201);
    expect_refused(nested(16), "invalid_json");
    expect_refused(std::string(500'000, '['), "invalid_json");
    std::string many = "{\"a\":[";
    for (int i = 0; i < 20'000; ++i)
        many += "1,";
    expect_refused(many + "1]}", "invalid_json");
}

TEST_F(Input, that_names_no_lease_is_refused) {
    for (const char* id :
         {"x", "x%23", "x%23abc", "%235", "x%230", "x%239007199254740992", "x%23-1", "@ns%231", "@n%20s/x%231"})
        expect_refused("GET", std::string("/v1/leases/") + id, "", "invalid_argument");
}

TEST_F(Input, with_another_content_type_is_refused) {
    for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"}) {
        client.send("POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + std::string(type) +
                    "\r\nContent-Length: 2\r\n\r\n{}");
        const Answer answer = client.read();
        EXPECT_EQ(answer.status, 400);
        EXPECT_EQ(answer.code(), "bad_request");
    }
    client.send(
        "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: Application/JSON; charset=utf-8\r\n"
        "Content-Length: 13\r\n\r\n{\"leases\":[]}");
    EXPECT_EQ(client.read().status, 200);
    client.send("POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n{\"leases\":[]}");
    EXPECT_EQ(client.read().status, 200);
}

TEST_F(Input, from_a_page_of_another_origin_is_refused) {
    const auto ask = [&](const char* host, const char* origin) {
        client.send("GET /health HTTP/1.1\r\nHost: " + std::string(host) + "\r\nOrigin: " + origin + "\r\n\r\n");
        return client.read();
    };
    for (const char* origin : {"http://evil.example", "null", "http://127.0.0.1:8080",
                               "http://127.0.0.1:7400.evil.example", "", "file://", "127.0.0.1:7400"}) {
        const Answer answer = ask("127.0.0.1:7400", origin);
        EXPECT_EQ(answer.status, 403) << origin;
        EXPECT_EQ(answer.code(), "origin_refused");
        EXPECT_FALSE(answer.headers.contains("access-control-allow-origin"));
    }
    EXPECT_EQ(ask("127.0.0.1:7400", "http://127.0.0.1:7400").status, 200);
    EXPECT_EQ(ask("LocalHost:7400", "http://localhost:7400").status, 200);
    EXPECT_EQ(ask("evil.example", "http://evil.example").code(), "origin_refused") << "a rebound name";
}

TEST_F(Input, for_a_name_that_is_not_this_servers_is_refused) {
    for (const char* host : {"evil.example", "evil.example:7400", "127.0.0.1.evil.example", "localhost.evil.example"}) {
        client.send("GET /v1/leases HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n");
        EXPECT_EQ(client.read().code(), "origin_refused") << host;
    }
    for (const char* host :
         {"localhost", "localhost:7400", "127.0.0.1", "[::1]:7400", "app.localhost", "192.168.0.7:80"}) {
        client.send("GET /v1/leases HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n");
        EXPECT_EQ(client.read().status, 200) << host;
    }
}

}  // namespace
}  // namespace holdfast::doors::http
