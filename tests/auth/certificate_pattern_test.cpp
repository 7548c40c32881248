#include "auth/certificate_pattern.h"

#include <gtest/gtest.h>

#include "auth/limits.h"
#include "base/code.h"

namespace holdfast::auth {
namespace {

using Patterns = std::vector<std::string>;

TEST(CertificatePattern, is_a_uri_all_below_one_a_dns_name_or_one_with_a_label_more) {
    for (const char* pattern : {"spiffe://prod/worker/7", "spiffe://prod/worker/*", "spiffe://prod/*", "spiffe://prod",
                                "https://a.b:8443/X_y~z", "worker", "worker-7.example.com", "*.workers.example.com"}) {
        const auto checked = checked_certificate_pattern(pattern);
        ASSERT_TRUE(checked) << pattern << ": " << checked.error().message;
        EXPECT_EQ(*checked, pattern);
    }
    EXPECT_EQ(*checked_certificate_pattern("*.Workers.Example.COM"), "*.workers.example.com");
}

TEST(CertificatePattern, is_refused_in_any_other_form) {
    for (const char* pattern : {"",
                                "*",
                                "*.",
                                "a..b",
                                ".a",
                                "a.",
                                "a.*.b",
                                "a*",
                                "a b",
                                "a:1",
                                "://x",
                                "spiffe://",
                                "spiffe:///x",
                                "spiffe://*",
                                "spiffe://p/",
                                "spiffe://p//x",
                                "spiffe://p/a/../b",
                                "spiffe://p/.",
                                "spiffe://p/a*",
                                "spiffe://p/*/b",
                                "spiffe://p/%61",
                                "spiffe://p/a?b",
                                "spiffe://p/a#b",
                                "SPIFFE://p/a",
                                "spiffe://Prod/a",
                                "spiffe://p/\xc3\xa4"}) {
        const auto checked = checked_certificate_pattern(pattern);
        ASSERT_FALSE(checked) << pattern;
        EXPECT_EQ(checked.error().code, Code::invalid_argument);
    }
    EXPECT_FALSE(checked_certificate_pattern("spiffe://p/" + std::string(limits::certificate_pattern_bytes, 'a')));
    EXPECT_FALSE(checked_certificate_pattern(std::string(limits::certificate_pattern_bytes + 1, 'a')));
}

TEST(CertificatePattern, for_a_uri_is_the_uri_itself_and_then_each_part_above_it) {
    EXPECT_EQ(patterns_for_uri("spiffe://prod/worker/7"),
              (Patterns{"spiffe://prod/worker/7", "spiffe://prod/worker/*", "spiffe://prod/*"}));
    EXPECT_EQ(patterns_for_uri("spiffe://prod"), Patterns{"spiffe://prod"});
}

TEST(CertificatePattern, for_a_dns_name_is_the_name_itself_and_then_any_first_label) {
    EXPECT_EQ(patterns_for_dns_name("W7.Example.com"), (Patterns{"w7.example.com", "*.example.com"}));
    EXPECT_EQ(patterns_for_dns_name("w7"), Patterns{"w7"});
}

TEST(CertificatePattern, there_is_none_for_a_name_that_may_be_read_in_two_ways) {
    for (const char* uri :
         {"", "prod/worker", "spiffe://prod/worker/../admin", "spiffe://prod//worker", "spiffe://prod/a%2fb",
          "spiffe://prod/worker/", "spiffe://prod/a?x", "SPIFFE://prod/a", "spiffe://prod/*", "spiffe://prod/a b"})
        EXPECT_TRUE(patterns_for_uri(uri).empty()) << uri;
    EXPECT_TRUE(patterns_for_uri(std::string("spiffe://prod/a\0b", 17)).empty());
    EXPECT_TRUE(patterns_for_uri("spiffe://prod" + std::string(66, '/')).empty());
    for (const char* name : {"", "*.example.com", "a..b", "a.", "a b", "a/b", "a:1"})
        EXPECT_TRUE(patterns_for_dns_name(name).empty()) << name;
    EXPECT_TRUE(patterns_for_dns_name(std::string("a\0.b", 4)).empty());
}

TEST(CertificatePattern, of_a_uri_with_many_parts_is_not_looked_for) {
    std::string uri = "spiffe://prod";
    for (int i = 0; i < 32; ++i)
        uri += "/a";
    EXPECT_EQ(patterns_for_uri(uri).size(), 33U);
    EXPECT_TRUE(patterns_for_uri(uri + "/a").empty());
}

}  // namespace
}  // namespace holdfast::auth
