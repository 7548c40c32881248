#include "discovery/publisher/host_port.h"

#include <gtest/gtest.h>

namespace holdfast::discovery::publisher {
namespace {

TEST(HostPort, is_a_host_and_a_port) {
    EXPECT_EQ(parse_host_port("example.org:80")->host, "example.org");
    EXPECT_EQ(parse_host_port("example.org:80")->port, 80);
    EXPECT_EQ(parse_host_port("[::1]:8080")->host, "::1");
    EXPECT_EQ(parse_host_port("[::1]:8080")->authority(), "[::1]:8080");
}

TEST(HostPort, has_the_default_port_only_where_there_is_one) {
    EXPECT_EQ(parse_host_port("relay", 7403)->port, 7403);
    EXPECT_EQ(parse_host_port("[::1]", 7403)->host, "::1");
    EXPECT_EQ(parse_host_port("relay:1", 7403)->port, 1);
    EXPECT_EQ(parse_host_port("relay").error().code, Code::invalid_argument);
}

TEST(HostPort, refuses_what_is_none) {
    for (const char* text :
         {"", ":", ":80", "host:", "host:0", "host:65536", "host:x", "::1", "::1:80", "a b:1", "[]:80"})
        EXPECT_FALSE(parse_host_port(text)) << text;
}

TEST(Relays, are_one_or_several_with_commas) {
    const auto relays = parse_relays("a, [::1]:5,10.0.0.7:6");
    ASSERT_TRUE(relays);
    ASSERT_EQ(relays->size(), 3U);
    EXPECT_EQ((*relays)[0].authority(), "a:7403");
    EXPECT_EQ((*relays)[1].port, 5);
    EXPECT_EQ((*relays)[2].host, "10.0.0.7");
    EXPECT_FALSE(parse_relays(""));
    EXPECT_FALSE(parse_relays("a,,b"));
    EXPECT_FALSE(parse_relays("a,b:x"));
    std::string many = "a";
    for (int i = 0; i < 16; ++i)
        many += ",a";
    EXPECT_FALSE(parse_relays(many));
}

}  // namespace
}  // namespace holdfast::discovery::publisher
