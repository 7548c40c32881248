#include "client/http_connection.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "base/text.h"
#include "client/scripted_server.h"

namespace holdfast::client {
namespace {

using Reply = ScriptedServer::Reply;
using Request = ScriptedServer::Request;

constexpr auto generous = 20s;
const HttpRequest get_health{.method = "GET", .target = "/health"};

TEST(HttpConnection, sends_what_it_is_given_and_returns_the_answer) {
    Request seen;
    ScriptedServer server([&](const Request& request) {
        seen = request;
        return Reply{http_answer(201, "{\"a\":1}")};
    });
    HttpConnection connection(server.url());
    const auto response = connection.send({.method = "POST", .target = "/v1/leases?x=1", .body = "{}"}, generous);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 201);
    EXPECT_EQ(response->body, "{\"a\":1}");
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.target, "/v1/leases?x=1");
    EXPECT_EQ(seen.body, "{}");
    EXPECT_NE(seen.headers.find("Host: " + server.url().substr(7) + "\r\n"), std::string::npos);
}

TEST(HttpConnection, uses_one_connection_for_many_requests) {
    ScriptedServer server([](const Request&) { return Reply{http_answer(200, "{}")}; });
    HttpConnection connection(server.url());
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(connection.send(get_health, generous));
    EXPECT_EQ(server.connections(), 1);
}

TEST(HttpConnection, connects_again_when_the_server_closed_it_while_idle) {
    ScriptedServer server([](const Request&) { return Reply{http_answer(200, "{}"), true}; });
    HttpConnection connection(server.url());
    for (int i = 1; i <= 3; ++i) {
        ASSERT_TRUE(connection.send(get_health, generous));
        ASSERT_TRUE(eventually([&] { return server.closed() == i; }));
    }
    EXPECT_EQ(server.requests(), 3);
}

TEST(HttpConnection, honours_a_server_that_will_not_keep_the_connection) {
    ScriptedServer server([](const Request&) { return Reply{http_answer(200, "{}", "Connection: close\r\n")}; });
    HttpConnection connection(server.url());
    ASSERT_TRUE(connection.send(get_health, generous));
    ASSERT_TRUE(connection.send(get_health, generous));
    EXPECT_EQ(server.connections(), 2);
}

TEST(HttpConnection, does_not_send_again_what_may_have_been_done) {
    ScriptedServer server([](const Request&) { return Reply{"", true}; });
    HttpConnection connection(server.url());
    const auto response = connection.send({.method = "POST", .target = "/", .body = "{}"}, generous);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::unreachable);
    EXPECT_NE(response.error().message.find(server.url()), std::string::npos);
    EXPECT_EQ(server.requests(), 1);
}

TEST(HttpConnection, gives_up_at_the_deadline_and_works_again_afterwards) {
    ScriptedServer server(
        [](const Request& request) { return request.number == 1 ? Reply{} : Reply{http_answer(200, "{}")}; });
    HttpConnection connection(server.url());
    const auto response = connection.send(get_health, 100ms);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::unreachable);
    EXPECT_TRUE(connection.send(get_health, generous));
    EXPECT_EQ(server.connections(), 2);
}

TEST(HttpConnection, gives_up_on_an_answer_that_stops_in_the_middle) {
    const std::string half = http_answer(200, std::string(1000, ' ')).substr(0, 300);
    ScriptedServer server([&](const Request& request) { return Reply{half, request.number == 2}; });
    HttpConnection connection(server.url());
    EXPECT_FALSE(connection.send(get_health, 100ms));
    EXPECT_FALSE(connection.send(get_health, generous));
}

TEST(HttpConnection, does_not_take_nonsense_for_an_answer) {
    ScriptedServer server([](const Request&) { return Reply{"220 mail.example ESMTP\r\n\r\n", true}; });
    HttpConnection connection(server.url());
    const auto response = connection.send(get_health, generous);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::unreachable);
}

TEST(HttpConnection, says_that_nobody_listens) {
    std::string url;
    {
        ScriptedServer gone([](const Request&) { return Reply{}; });
        url = gone.url();
    }
    HttpConnection connection(url);
    const auto response = connection.send(get_health, generous);
    ASSERT_FALSE(response);
    EXPECT_NE(response.error().message.find("refused"), std::string::npos) << response.error().message;
}

TEST(HttpConnection, finds_a_server_by_name) {
    ScriptedServer server([](const Request&) { return Reply{http_answer(200, "{}")}; });
    HttpConnection connection("http://localhost" + server.url().substr(server.url().rfind(':')));
    EXPECT_TRUE(connection.send(get_health, generous));
}

TEST(HttpConnection, is_stopped_from_another_thread) {
    std::atomic<bool> asked = false;
    ScriptedServer server([&](const Request&) {
        asked = true;
        return Reply{};
    });
    HttpConnection connection(server.url());
    std::thread stopper([&] {
        EXPECT_TRUE(eventually([&] { return asked.load(); }));
        connection.stop();
    });
    const auto response = connection.send(get_health, 60s);
    stopper.join();
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::cancelled);
    EXPECT_EQ(connection.send(get_health, 60s).error().code, Code::cancelled);
}

TEST(HttpConnection, hands_on_a_stream_line_by_line_however_it_is_cut) {
    std::string last_event_id;
    ScriptedServer server([&](const Request& request) {
        last_event_id = request.headers;
        return Reply{
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            "6\r\nid: 1\n\r\n4\r\nda\r\n\r\n3\r\nta:\r\n1\r\n\n\r\n0\r\n\r\n"};
    });
    HttpConnection connection(server.url());
    std::vector<std::string> lines;
    const auto end = connection.stream({.method = "GET", .target = "/v1/events", .last_event_id = "x-7"},
                                       [&](std::string_view line) {
                                           lines.emplace_back(line);
                                           return true;
                                       });
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, Code::unreachable);
    EXPECT_EQ(lines, (std::vector<std::string>{"id: 1", "da", "ta:"}));
    EXPECT_NE(last_event_id.find("Last-Event-ID: x-7\r\n"), std::string::npos);
}

TEST(HttpConnection, ends_a_stream_when_the_reader_has_enough_or_it_is_stopped) {
    ScriptedServer server([](const Request&) {
        return Reply{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\none\ntwo\nthree\n"};
    });
    HttpConnection enough(server.url());
    int lines = 0;
    EXPECT_TRUE(enough.stream({.method = "GET", .target = "/"}, [&](std::string_view) { return ++lines < 2; }));
    EXPECT_EQ(lines, 2);

    HttpConnection stopped(server.url());
    std::thread stopper;
    lines = 0;
    const auto end = stopped.stream({.method = "GET", .target = "/"}, [&](std::string_view) {
        if (++lines == 3) stopper = std::thread([&] { stopped.stop(); });
        return true;
    });
    stopper.join();
    EXPECT_TRUE(end);
    EXPECT_EQ(lines, 3);
}

TEST(HttpConnection, returns_the_refusal_of_a_stream) {
    ScriptedServer server([](const Request&) { return Reply{http_answer(400, "{\"error\":{}}")}; });
    HttpConnection connection(server.url());
    const auto refusal = connection.stream({.method = "GET", .target = "/"}, [](std::string_view) { return true; });
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->status, 400);
    EXPECT_EQ(refusal->body, "{\"error\":{}}");
}

}  // namespace
}  // namespace holdfast::client
