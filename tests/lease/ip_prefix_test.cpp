#include "lease/ip_prefix.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

TEST(IpPrefix, has_one_spelling) {
    EXPECT_EQ(ban_name("10.1.2.3"), "10.1.2.3");
    EXPECT_EQ(ban_name("10.1.2.3/8"), "10.0.0.0/8");
    EXPECT_EQ(ban_name("10.1.2.3/13"), "10.0.0.0/13");
    EXPECT_EQ(ban_name("10.9.2.3/13"), "10.8.0.0/13");
    EXPECT_EQ(ban_name("10.1.2.3/32"), "10.1.2.3");
    EXPECT_EQ(ban_name("0.0.0.0/0"), "0.0.0.0/0");
    EXPECT_EQ(ban_name("2001:DB8:0:0::7"), "2001:db8::7");
    EXPECT_EQ(ban_name("2001:db8::7/32"), "2001:db8::/32");
    EXPECT_EQ(ban_name("::ffff:10.1.2.3"), "10.1.2.3");
    EXPECT_EQ(ban_name("::/0"), "::/0");
}

TEST(IpPrefix, is_nothing_else) {
    for (const char* text :
         {"", "mallory", "10.1.2", "10.1.2.3.4", "10.1.2.256", "10.1.2.3/33", "10.1.2.3/", "10.1.2.3/-1",
          "10.1.2.3/8/8", "2001:db8::/129", "10.1.2.3:80", "[::1]", "anna@10.1.2.3"}) {
        EXPECT_FALSE(parse_ip_prefix(text)) << text;
        EXPECT_EQ(ban_name(text), text);
    }
}

TEST(IpPrefix, that_is_malformed_is_told_from_the_name_of_a_holder) {
    for (const char* text : {"300.1.1.1",
                             "10.1.2.256",
                             "10.0.0.0/99",
                             "10.0.0.0/",
                             "10.0.0.0/x",
                             "10.0/8",
                             "10.1.2.3/8/8",
                             "2001:db8::/129",
                             "fe80:::1",
                             "::1::",
                             "1:2:3:4:5:6:7:8888888",
                             "2001:db8/32",
                             "10.1.2.*",
                             "10.*",
                             "10.1.2.3-10.1.2.9",
                             "[::1]",
                             "[fe80::1]:80",
                             "10.1.2.3 ",
                             " 10.1.2.3",
                             "10.0.0.0/8\n",
                             " 300.1.1.1",
                             "10.1.2.3.4",
                             "fe80::1%eth0"})
        EXPECT_TRUE(is_malformed_address(text)) << text;
    for (const char* text :
         {"", "mallory", "10.1.2.3", "10.0.0.0/8", "fe80::1", "v1.2", "1.2", "10/3", "a:b:c", "team/7", "anna@10.1.2.3",
          "10.1.2.3:80", "build.1.2.3", "*", "[team]", "1.2-3", " ", " mallory", "50%"})
        EXPECT_FALSE(is_malformed_address(text)) << text;
}

TEST(IpPrefix, of_a_caller_is_its_address_without_the_port) {
    for (const char* text : {"10.1.2.3", "10.1.2.3:80", "[::ffff:10.1.2.3]:80", "::ffff:10.1.2.3"})
        EXPECT_EQ(to_string(parse_caller_address(text).value()), "10.1.2.3") << text;
    for (const char* text : {"fe80::1", "[fe80::1]:80", "[fe80::1]"})
        EXPECT_EQ(to_string(parse_caller_address(text).value()), "fe80::1") << text;
    for (const char* text : {"", "localhost", "localhost:80", "[fe80::1", ":80"})
        EXPECT_FALSE(parse_caller_address(text)) << text;
}

TEST(AddressBans, cover_addresses_alone_and_by_prefix_and_no_others) {
    Policy policy;
    for (const char* banned : {"mallory", "10.0.0.0/8", "192.0.2.7", "2001:db8::/33"})
        policy.bans[banned] = {};
    const AddressBans bans(policy);
    const auto covers = [&](const char* address) { return bans.covers(parse_caller_address(address).value()); };
    EXPECT_TRUE(covers("10.255.0.1:7"));
    EXPECT_FALSE(covers("11.0.0.1"));
    EXPECT_TRUE(covers("192.0.2.7"));
    EXPECT_FALSE(covers("192.0.2.8"));
    EXPECT_TRUE(covers("2001:db8:7fff::1"));
    EXPECT_FALSE(covers("2001:db8:8000::1"));
    EXPECT_FALSE(AddressBans().covers(parse_caller_address("10.0.0.1").value()));
    EXPECT_TRUE(AddressBans().empty());
}

}  // namespace
}  // namespace holdfast::lease
