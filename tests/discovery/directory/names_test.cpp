#include <gtest/gtest.h>

#include "discovery/directory/service_name.h"
#include "lease/manifest.h"

namespace holdfast::discovery::directory {
namespace {

bool is_name(std::string_view text) {
    return static_cast<bool>(normalised_service_name(text));
}

TEST(ServiceName, has_one_spelling_for_what_looks_the_same) {
    const std::string composed = "caf\xc3\xa9";
    const std::string decomposed = "cafe\xcc\x81";
    EXPECT_EQ(normalised_service_name(composed).value(), composed);
    EXPECT_EQ(normalised_service_name(decomposed).value(), composed);
    EXPECT_EQ(normalised_service_name("\xe2\x84\xab").value(), "\xc3\x85") << "the sign of the angstrom is a letter";
}

TEST(ServiceName, may_be_in_any_script_and_have_blanks_inside) {
    EXPECT_TRUE(is_name("web"));
    EXPECT_TRUE(is_name("my web server"));
    EXPECT_TRUE(is_name("\xe6\x9c\x8d\xe5\x8a\xa1"));
    EXPECT_TRUE(is_name("a:b-c_d.e~f"));
    EXPECT_TRUE(is_name(std::string(255, 'x')));
}

TEST(ServiceName, has_nothing_that_cannot_be_seen_or_means_something_else) {
    for (const char* text : {"",
                             " web",
                             "web ",
                             "\xc2\xa0web",
                             "a/b",
                             "a#b",
                             "a@b",
                             "a*",
                             "a?",
                             "a[b",
                             "~web",
                             "a\nb",
                             "a\x7f"
                             "b",
                             "web\xe2\x80\x8b",
                             "web\xe2\x80\xae",
                             "web\xee\x80\x80",
                             "web\xf3\xa0\x80\x80",
                             "a\xe2\x80\xa8"
                             "b",
                             "\xff",
                             "\xed\xa0\x80"})
        EXPECT_FALSE(is_name(text)) << '"' << text << '"';
    EXPECT_FALSE(is_name(std::string(256, 'x')));
    EXPECT_FALSE(is_name(std::string("a\0b", 3)));
}

TEST(ServiceName, is_counted_in_its_normal_form) {
    std::string decomposed, composed;
    for (int i = 0; i < 127; ++i) {
        decomposed += "e\xcc\x81";
        composed += "\xc3\xa9";
    }
    EXPECT_EQ(normalised_service_name(decomposed).value(), composed);
}

TEST(ServiceName, that_is_given_is_a_tilde_and_sixteen_digits) {
    EXPECT_EQ(given_service_name(0x0123456789abcdef), "~0123456789abcdef");
    EXPECT_TRUE(is_given_service_name("~0123456789abcdef"));
    EXPECT_FALSE(is_given_service_name("~0123456789abcdeg"));
    EXPECT_FALSE(is_given_service_name("0123456789abcdef0"));
    EXPECT_TRUE(is_name("~0123456789abcdef"));
}

TEST(ServiceName, is_a_resource_in_a_namespace_of_its_own) {
    EXPECT_EQ(service_resource("web"), "@~services/web");
    EXPECT_EQ(service_name_of("@~services/web"), "web");
    EXPECT_TRUE(lease::is_service("@~services/web"));
    EXPECT_TRUE(lease::is_reserved("@~services/web"));
    EXPECT_FALSE(lease::is_service("@services/web"));
    EXPECT_FALSE(lease::is_reserved("~services/web"));
}

}  // namespace
}  // namespace holdfast::discovery::directory
