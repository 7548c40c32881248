#include <array>
#include <gtest/gtest.h>
#include <string_view>

#include "base/random.h"
#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

constexpr int requests = 20'000;
constexpr int per_connection = 10;

struct Seed {
    const char* method;
    const char* target;
    const char* body;
};
constexpr std::array seeds{
    Seed{"POST", "/v1/leases", R"({"holder":"a","resource":"r","ttl_ms":1000,"metadata":{"x":[1,2.5,"y"]}})"},
    Seed{"POST", "/v1/leases", R"({"holder":"b","namespace":"n","intents":[{"resource":"r","predicate":"CONSUMES"}]})"},
    Seed{"POST", "/v1/leases", R"({"holder":"c","resource":"r","wait_ms":5,"idempotency_key":"k"})"},
    Seed{"GET", "/v1/leases?holder=a&prefix=r&namespace=n&limit=10&after=3", ""},
    Seed{"GET", "/v1/leases/r%231763208000001", ""},
    Seed{"POST", "/v1/leases/r%231763208000001/heartbeat", R"({"holder":"a","client_time_ms":5})"},
    Seed{"DELETE", "/v1/leases/r%231763208000001?holder=a", ""},
    Seed{"POST", "/v1/heartbeat", R"({"holder":"a","leases":["r#1","x#2"]})"},
    Seed{"POST", "/v1/verify", R"({"leases":["r#1763208000001"]})"},
    Seed{"PATCH", "/v1/policy", R"({"ttl_min_ms":1,"name_pattern":null})"},
    Seed{"PUT", "/v1/bans/mallory", R"({"reason":"x"})"},
    Seed{"DELETE", "/v1/bans/mallory", ""},
    Seed{"POST", "/v1/leases/r%231763208000001/bar", ""},
    Seed{"GET", "/metrics", ""},
    Seed{"GET", "/v1/bans?limit=5", ""},
    Seed{"PUT", "/v1/agents/a", R"({"priority":-5,"epoch":1})"},
    Seed{"PUT", "/v1/agents/b%2Fc", R"({"priority":1763208000000})"},
    Seed{"GET", "/v1/agents/a", ""},
    Seed{"GET", "/v1/agents?limit=5&after=a", ""},
    Seed{"DELETE", "/v1/agents/b%2Fc", ""},
    Seed{"POST", "/v1/agents/a/restarting", R"({"epoch":2})"},
    Seed{"POST", "/v1/leases", R"({"holder":"a","epoch":3,"progress":1,"resource":"FILE:/src/**","ttl_ms":1000})"},
    Seed{"POST", "/v1/leases", R"({"holder":"b/c","resource":" FILE:/src//./main.c/ ","wait_ms":5})"},
    Seed{"POST", "/v1/heartbeat", R"({"holder":"a","epoch":2,"leases":[{"id":"r#1","progress":7}],"progress":3})"},
    Seed{"DELETE", "/v1/leases/r%231763208000001?holder=a&epoch=2", ""},
    Seed{"POST", "/v1/verify", R"({"holder":"a","epoch":4})"},
    Seed{"PATCH", "/v1/policy", R"({"hold_max_ms":60000,"idle_max_ms":null,"leases_per_holder_max":50})"},
    Seed{"PATCH", "/v1/policy?namespace=team", R"({"hold_max_ms":60000,"inherit":["ttl_min_ms","name_pattern"]})"},
};
constexpr std::string_view chunked =
    "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    "4\r\n{\"le\r\n9\r\nases\":[]}\r\n0\r\n\r\n";

/// Some of the bytes changed, cut, doubled or replaced by ones that parsers stumble over.
std::string mutated(std::string text, Random& random) {
    static constexpr std::array traps{"\r\n",
                                      "\r\n\r\n",
                                      "\"",
                                      "{",
                                      "}",
                                      "[",
                                      "\\u0000",
                                      "\xff",
                                      "%",
                                      "%00",
                                      "#",
                                      "/",
                                      "&",
                                      "-1",
                                      "1e999",
                                      "null",
                                      "99999999999999999999",
                                      "Content-Length: 5\r\n"};
    for (std::uint64_t changes = random.below(4); changes > 0; --changes) {
        const std::size_t at = random.below(text.size() + 1);
        switch (random.below(5)) {
            case 0:
                text.insert(at, traps[random.below(traps.size())]);
                break;
            case 1:
                text.erase(at, random.below(8));
                break;
            case 2:
                text.insert(at, text.substr(random.below(text.size() + 1), random.below(32)));
                break;
            case 3:
                text.insert(at, 1, static_cast<char>(random.next()));
                break;
            default:
                if (at < text.size()) text[at] = static_cast<char>(random.next());
        }
    }
    return text;
}

/// Mutated inside an intact frame mostly, so that it gets past the first parser; now and then anywhere.
std::string any_request(Random& random) {
    const Seed& seed = seeds[random.below(seeds.size())];
    const std::uint64_t kind = random.below(10);
    if (kind == 0) return mutated(request_text(seed.method, seed.target, seed.body), random);
    if (kind == 1) return mutated(std::string(chunked), random);
    std::string target = seed.target;
    if (kind < 5) {
        target = "/" + mutated(target.substr(1), random);
        std::erase_if(target, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
    }
    return request_text(seed.method, target, mutated(seed.body, random));
}

TEST(HttpDoor, stands_whatever_it_is_sent) {
    TestDoor door;
    Random random(20261115);
    long answers = 0;
    for (int sent = 0; sent < requests;) {
        TestClient client = door.connect();
        for (int i = 0; i < per_connection && sent < requests; ++i, ++sent)
            if (!client.try_send(any_request(random))) break;
        client.end_sending();
        const std::string came = client.read_to_end();
        for (std::size_t at = 0; (at = came.find("HTTP/1.1 ", at)) != std::string::npos; ++at)
            ++answers;
        if (sent % 1000 < per_connection) {
            door.advance(100ms);
            TestClient check = door.connect();
            ASSERT_EQ(check.ask("GET", "/health").status, 200) << "after " << sent;
        }
    }
    EXPECT_GT(answers, requests / 2) << "too little was understood to prove anything";
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/health").text("/status"), "ok");
    door.wait_for_waiters(0);
}

}  // namespace
}  // namespace holdfast::doors::http
