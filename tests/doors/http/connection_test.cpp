#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(HttpConnection, is_kept_alive) {
    TestDoor door;
    TestClient client = door.connect();
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(client.ask("GET", "/health").status, 200);
}

TEST(HttpConnection, is_closed_when_the_client_says_so) {
    TestDoor door;
    TestClient client = door.connect();
    client.send(request_text("GET", "/health", {}, "Connection: close\r\n"));
    const Answer answer = client.read();
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpConnection, of_http_1_0_is_closed_unless_it_asks_to_be_kept) {
    TestDoor door;
    TestClient plain = door.connect();
    plain.send("GET /health HTTP/1.0\r\n\r\n");
    EXPECT_EQ(plain.read().headers.at("connection"), "close");
    EXPECT_EQ(plain.read_to_end(), "");
    TestClient kept = door.connect();
    kept.send("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(kept.read().headers.at("connection"), "keep-alive");
    EXPECT_EQ(kept.ask("GET", "/health").status, 200);
}

TEST(HttpConnection, answers_pipelined_requests_in_order) {
    TestDoor door;
    TestClient client = door.connect();
    std::string all;
    for (int i = 0; i < 500; ++i)
        all += i % 3 == 0   ? acquire_request("a", "r" + std::to_string(i))
               : i % 3 == 1 ? health_request()
                            : request_text("GET", "/nowhere");
    client.send(all);
    for (int i = 0; i < 500; ++i) {
        const Answer answer = client.read();
        ASSERT_EQ(answer.status, i % 3 == 0 ? 201 : i % 3 == 1 ? 200 : 404) << i;
        if (i % 3 == 0) {
            ASSERT_EQ(answer.text("/leases/0/resource"), "r" + std::to_string(i));
        }
    }
}

TEST(HttpConnection, holds_back_what_was_pipelined_behind_a_wait) {
    TestDoor door;
    TestClient other = door.connect();
    const std::string id = take(other, "r", "bob");
    TestClient client = door.connect();
    client.send(health_request() + acquire_request("alice", "r", 60'000) + acquire_request("alice", "q") +
                health_request());
    door.wait_for_waiters(1);
    EXPECT_EQ(client.read().status, 200);
    EXPECT_EQ(other.ask("GET", "/v1/leases?prefix=q").size("/leases"), 0U) << "answered before its turn";
    EXPECT_EQ(other.ask("DELETE", lease_path(id) + "?holder=bob").status, 200);
    EXPECT_EQ(client.read().text("/leases/0/resource"), "r");
    EXPECT_EQ(client.read().text("/leases/0/resource"), "q");
    EXPECT_EQ(client.read().text("/status"), "ok");
}

TEST(HttpConnection, answers_one_who_waits_when_the_time_is_up) {
    TestDoor door;
    TestClient other = door.connect();
    take(other, "r", "bob");
    TestClient client = door.connect();
    client.send(acquire_request("alice", "r", 5000));
    door.wait_for_waiters(1);
    const Answer second = other.ask("POST", "/v1/leases", R"({"holder":"carol","resource":"r"})");
    EXPECT_EQ(second.size("/conflicts"), 2U) << second.body;
    EXPECT_TRUE(second.truth("/conflicts/1/waiting"));
    EXPECT_FALSE(second.has("/conflicts/1/token"));
    door.advance(6s);
    const Answer answer = client.read();
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(answer.text("/verdict"), "WAIT");
    EXPECT_EQ(answer.code(), "wait_timeout");
    EXPECT_EQ(answer.text("/conflicts/0/holder"), "bob");
}

TEST(HttpConnection, that_is_half_closed_gets_its_answers) {
    TestDoor door;
    TestClient client = door.connect();
    client.send(acquire_request("alice", "r") + health_request());
    client.end_sending();
    EXPECT_EQ(client.read().status, 201);
    EXPECT_EQ(client.read().status, 200);
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpConnection, that_waited_is_told_for_how_long) {  // T3
    TestDoor door;
    TestClient other = door.connect();
    const std::string id = take(other, "r", "bob");
    TestClient client = door.connect();
    const std::string body =
        R"({"holder":"alice","resource":"r","ttl_ms":6000,"wait_ms":60000,"client_time_ms":1000000})";
    client.send("POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    door.wait_for_waiters(1);
    door.advance(10s);
    EXPECT_EQ(other.ask("DELETE", lease_path(id) + "?holder=bob").status, 200);
    const Answer answer = client.read();
    ASSERT_EQ(answer.status, 201) << answer.body;
    EXPECT_EQ(answer.number("/waited_ms"), 9801) << "10 s, either of the clocks being wrong by 1 %";
    EXPECT_EQ(answer.number("/leases/0/timeline/expires_in_ms"), 6000);
    EXPECT_EQ(answer.number("/leases/0/timeline/renew_at_ms"), 1'011'801);
}

TEST(HttpConnection, that_waits_is_shown_that_it_does_if_it_asked_for_that) {
    TestDoor door;
    TestClient other = door.connect();
    const std::string id = take(other, "r", "bob");
    TestClient client = door.connect();
    const std::string body = R"({"holder":"alice","resource":"r","wait_ms":60000})";
    client.send("POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nHoldfast-Progress-Ms: 50\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_EQ(client.read_head().status, 102);
    EXPECT_EQ(client.read_head().status, 102);
    EXPECT_EQ(other.ask("DELETE", lease_path(id) + "?holder=bob").status, 200);
    Answer answer = client.read_head();
    while (answer.status == 102)
        answer = client.read_head();
    EXPECT_EQ(answer.status, 201);
}

TEST(HttpConnection, that_is_half_closed_while_it_waits_leaves_the_queue) {
    TestDoor door;
    TestClient other = door.connect();
    const std::string id = take(other, "r", "bob");
    TestClient client = door.connect();
    client.send(acquire_request("alice", "r", 60'000) + health_request());
    door.wait_for_waiters(1);
    client.end_sending();
    const Answer answer = client.read();
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(answer.code(), "cancelled");
    EXPECT_EQ(client.read().status, 200);
    EXPECT_EQ(client.read_to_end(), "");
    door.wait_for_waiters(0);
}

TEST(HttpConnection, that_was_half_closed_before_its_turn_to_wait_does_not_wait) {
    TestDoor door;
    TestClient other = door.connect();
    take(other, "r", "bob");
    TestClient client = door.connect();
    client.send(acquire_request("alice", "r", 60'000) + acquire_request("alice", "r", 60'000));
    client.end_sending();
    EXPECT_EQ(client.read().code(), "cancelled");
    EXPECT_EQ(client.read().code(), "cancelled");
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpConnection, that_goes_away_while_it_waits_makes_room_for_the_next) {
    TestDoor door;
    TestClient other = door.connect();
    const std::string id = take(other, "r", "bob");
    TestClient leaving = door.connect(), breaking = door.connect(), staying = door.connect();
    leaving.send(acquire_request("first", "r", 60'000));
    door.wait_for_waiters(1);
    breaking.send(acquire_request("second", "r", 60'000));
    door.wait_for_waiters(2);
    staying.send(acquire_request("third", "r", 60'000));
    door.wait_for_waiters(3);
    leaving.close();
    breaking.reset();
    door.wait_for_waiters(1);
    EXPECT_EQ(other.ask("DELETE", lease_path(id) + "?holder=bob").status, 200);
    EXPECT_EQ(staying.read().text("/leases/0/holder"), "third");
}

TEST(HttpConnection, takes_a_chunked_body) {
    TestDoor door;
    TestClient client = door.connect();
    client.send(
        "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        "10\r\n{\"holder\":\"a\",\"r\r\n10\r\nesource\":\"r\"}   \r\n0\r\n\r\n" +
        health_request());
    EXPECT_EQ(client.read().status, 201);
    EXPECT_EQ(client.read().status, 200);
}

TEST(HttpConnection, tells_a_client_that_asks_to_go_on) {
    TestDoor door;
    TestClient client = door.connect();
    client.send("POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 29\r\n\r\n");
    EXPECT_EQ(client.read_head().status, 100);
    client.send(R"({"holder":"a","resource":"r"})");
    EXPECT_EQ(client.read().status, 201);
    client.send(
        "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n");
    EXPECT_EQ(client.read().status, 413) << "no use in sending it";
}

TEST(HttpConnection, overlooks_an_empty_line_before_a_request) {
    TestDoor door;
    TestClient client = door.connect();
    client.send("\r\n\r\n" + health_request());
    EXPECT_EQ(client.read().status, 200);
}

TEST(HttpConnection, refuses_what_is_not_http_1_1) {
    TestDoor door;
    for (const char* request :
         {"hello\r\n\r\n", "GET /health\r\n\r\n", "GET /health HTTP/2.0\r\n\r\n", "GET /health HTTP/1.1\r\n\r\n",
          "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
          "GET /health HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
          "GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n\r\n",
          "GET /health HTTP/1.1\r\nHost: localhost\r\nX-A:\r\n\tc\r\n\r\n",
          "GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n",
          "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: "
          "chunked\r\n\r\n0\r\n\r\n",
          "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: "
          "5\r\n\r\n0\r\n\r\n",
          "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
          "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
          "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
          "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
          "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
          "\x16\x03\x01\x02\x01\xfc\x03\x03\r\n\r\n"}) {
        TestClient client = door.connect();
        client.try_send(request);
        const Answer answer = client.read();
        EXPECT_EQ(answer.status, 400) << request;
        EXPECT_EQ(answer.code(), "bad_request") << request;
        EXPECT_EQ(client.read_to_end(), "");
    }
}

TEST(HttpConnection, survives_clients_that_vanish_at_any_point) {
    TestDoor door;
    const std::string request = acquire_request("a", "r", 1000);
    for (std::size_t bytes = 0; bytes <= request.size(); ++bytes) {
        TestClient client = door.connect();
        client.send(request.substr(0, bytes));
        bytes % 2 == 0 ? client.reset() : client.close();
    }
    TestClient client = door.connect();
    EXPECT_EQ(client.ask("GET", "/health").status, 200);
    door.wait_for_waiters(0);
}

TEST(HttpDoor, stops_after_the_answers_under_way) {
    TestDoor door;
    TestClient idle = door.connect(), waiting = door.connect(), streaming = door.connect();
    EXPECT_EQ(idle.ask("GET", "/health").status, 200);
    take(idle, "r", "bob");
    waiting.send(acquire_request("alice", "r", 60'000));
    door.wait_for_waiters(1);
    streaming.send(request_text("GET", "/v1/events"));
    EXPECT_EQ(streaming.read_head().status, 200);
    door.run([&] { door.authority().stop(); });
    door.stop();
    EXPECT_EQ(waiting.read().code(), "stopping");
    EXPECT_EQ(waiting.read_to_end(), "");
    EXPECT_EQ(idle.read_to_end(), "");
    streaming.read_to_end();
    EXPECT_THROW(door.connect(), std::runtime_error);
}

TEST(HttpDoor, closes_those_who_would_wait_on_when_it_stops) {
    TestDoor door;
    TestClient client = door.connect(), waiting = door.connect();
    take(client, "r", "bob");
    waiting.send(acquire_request("alice", "r", 60'000));
    door.wait_for_waiters(1);
    door.stop();
    EXPECT_EQ(waiting.read().status, 0);
    door.wait_for_waiters(0);
}

TEST(HttpDoor, says_why_it_cannot_listen) {
    TestDoor door;
    DoorSetting setting;
    for (const std::string& address :
         {std::string("nonsense"), std::string("127.0.0.1:99999"), std::string("127.0.0.1:x"),
          std::string("no such host:0"), "127.0.0.1:" + std::to_string(door.port())}) {
        setting.options.address = address;
        EXPECT_THROW(TestDoor{setting}, std::runtime_error) << address;
    }
}

}  // namespace
}  // namespace holdfast::doors::http
