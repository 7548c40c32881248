#include "client/server_address.h"

#include <cstdlib>
#include <gtest/gtest.h>

#include "client/http_connection.h"

namespace holdfast::client {
namespace {

TEST(ServerAddress, is_a_host_and_a_port) {
    EXPECT_EQ(*parse_server("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
    EXPECT_EQ(*parse_server("http://lease-server.example:1/"), "http://lease-server.example:1");
    EXPECT_EQ(split_server("http://127.0.0.1:8080").port, 8080);
    EXPECT_EQ(split_server("http://127.0.0.1:8080").host, "127.0.0.1");
}

TEST(ServerAddress, has_the_usual_port_if_none_is_given) {
    EXPECT_EQ(*parse_server("http://localhost"), "http://localhost:7400");
    EXPECT_EQ(*parse_server("http://[::1]/"), "http://[::1]:7400");
}

TEST(ServerAddress, of_the_sixth_kind_stands_in_brackets) {
    EXPECT_EQ(split_server("http://[::1]:99").host, "::1");
    EXPECT_EQ(split_server("http://[::1]:99").authority(), "[::1]:99");
}

TEST(ServerAddress, that_makes_no_sense_is_refused_with_a_reason) {
    for (const char* url :
         {"", "127.0.0.1:7400", "https://localhost", "http://", "http://:7400", "http://host:0", "http://host:65536",
          "http://host:x", "http://host:", "http://host/path", "http://[::1", "http://[]:1", "http://[host]:1",
          "http://a b", "http://user@host", "http://[::1]x:1", "http://host:1\r\nEvil: 1"}) {
        const auto parsed = parse_server(url);
        ASSERT_FALSE(parsed) << url;
        EXPECT_EQ(parsed.error().code, Code::invalid_argument);
        EXPECT_NE(parsed.error().message.find("http://HOST:PORT"), std::string::npos);
    }
}

TEST(ServerAddress, comes_from_the_argument_then_the_environment_then_is_the_usual_one) {
    ::setenv("HOLDFAST_SERVER", "http://from.environment:1", 1);
    EXPECT_EQ(default_server("http://given:2"), "http://given:2");
    EXPECT_EQ(default_server(), "http://from.environment:1");
    ::unsetenv("HOLDFAST_SERVER");
    EXPECT_EQ(default_server(), "http://127.0.0.1:7400");
}

TEST(ServerList, is_asked_from_the_first_on_and_keeps_to_the_one_that_works) {
    ServerList servers("http://a:1,http://b:2,http://c:3");
    ASSERT_EQ(servers.size(), 3U);
    EXPECT_EQ(servers.at(servers.current()), "http://a:1");
    servers.pass_over(0);
    EXPECT_EQ(servers.at(servers.current()), "http://b:2");
    EXPECT_EQ(servers.at(servers.current()), "http://b:2");
}

TEST(ServerList, begins_anew_after_the_last) {
    ServerList servers("http://a:1,http://b:2");
    servers.pass_over(0);
    servers.pass_over(1);
    EXPECT_EQ(servers.current(), 0U);
}

TEST(ServerList, passes_over_a_server_once_however_many_saw_it_fail) {
    ServerList servers("http://a:1,http://b:2,http://c:3");
    servers.pass_over(0);
    servers.pass_over(0);
    EXPECT_EQ(servers.current(), 1U) << "the second is not to blame";
}

TEST(ServerList, of_one_has_no_other_to_ask) {
    ServerList servers("http://a:1");
    servers.pass_over(0);
    EXPECT_EQ(servers.current(), 0U);
}

TEST(ServerAddresses, stand_with_commas_between_them_in_the_order_they_are_asked) {
    EXPECT_EQ(*parse_servers("http://a:1"), "http://a:1");
    EXPECT_EQ(*parse_servers("http://b, http://[::1]:9/ ,http://a:1"), "http://b:7400,http://[::1]:9,http://a:1");
    EXPECT_EQ(*parse_servers("http://a,http://b,http://a:7400"), "http://a:7400,http://b:7400") << "once each";
}

TEST(ServerAddresses, of_which_one_makes_no_sense_are_refused_with_its_reason) {
    for (const char* urls : {"", ",", "http://a,", ",http://a", "http://a,,http://b", "http://a;http://b", "http://a,b",
                             "http://a,http://b/path", "http://a http://b"}) {
        const auto parsed = parse_servers(urls);
        ASSERT_FALSE(parsed) << urls;
        EXPECT_EQ(parsed.error().code, Code::invalid_argument);
        EXPECT_NE(parsed.error().message.find("http://HOST:PORT"), std::string::npos);
    }
}

TEST(ServerAddresses, are_sixteen_at_most) {
    std::string urls = "http://h:1";
    for (int port = 2; port <= 16; ++port)
        urls += ",http://h:" + std::to_string(port);
    EXPECT_TRUE(parse_servers(urls));
    EXPECT_FALSE(parse_servers(urls + ",http://h:17"));
}

}  // namespace
}  // namespace holdfast::client
