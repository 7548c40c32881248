#include "client/server_address.h"

#include <cstdlib>
#include <gtest/gtest.h>

#include "client/http_connection.h"

namespace holdfast {
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
        EXPECT_EQ(parsed.error().code, "invalid_argument");
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

}  // namespace
}  // namespace holdfast
