#include "lease/manifest.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

TEST(Names, carry_their_namespace_unless_it_is_the_default_one) {
    EXPECT_EQ(full_name("", "a/b"), "a/b");
    EXPECT_EQ(full_name("default", "a/b"), "a/b");
    EXPECT_EQ(full_name("redis", "a/b"), "@redis/a/b");
    EXPECT_EQ(split_name("@redis/a/b").name_space, "redis");
    EXPECT_EQ(split_name("@redis/a/b").resource, "a/b");
    EXPECT_EQ(split_name("a/b").name_space, "default");
}

TEST(Names, are_refused_if_empty_too_long_not_text_or_disguised_as_a_namespace) {
    EXPECT_TRUE(check_resource(std::string(4096, 'a')));
    EXPECT_FALSE(check_resource(std::string(4097, 'a')));
    for (const char* name : {"", "@other/a", "a\nb", "a\x7f", "\xff"})
        EXPECT_FALSE(check_resource(name));
    EXPECT_TRUE(check_resource("größe 🔒"));
}

TEST(Holders, are_at_most_256_bytes) {
    EXPECT_TRUE(check_holder(std::string(256, 'h')));
    EXPECT_FALSE(check_holder(std::string(257, 'h')));
    EXPECT_FALSE(check_holder(""));
}

TEST(Namespaces, take_few_characters) {
    EXPECT_TRUE(check_namespace("team-a.x_1"));
    for (const char* name : {"a/b", "a b", "ä", "@"})
        EXPECT_FALSE(check_namespace(name)) << name;
    EXPECT_FALSE(check_namespace(std::string(65, 'n')));
}

TEST(Manifest, has_one_to_256_intents) {  // G1
    EXPECT_FALSE(checked_manifest({}));
    std::vector<Intent> many;
    for (int i = 0; i < 257; ++i)
        many.push_back({"r" + std::to_string(i)});
    EXPECT_FALSE(checked_manifest(many));
    many.pop_back();
    EXPECT_EQ(checked_manifest(many)->size(), 256U);
}

TEST(Manifest, drops_repeated_intents_and_keeps_the_order) {
    const auto merged = checked_manifest(
        {{"b"}, {"a", Predicate::consumes}, {"b"}, {"a", Predicate::mutates}, {"a", Predicate::consumes}});
    EXPECT_EQ(*merged, (std::vector<Intent>{{"b"}, {"a", Predicate::consumes}, {"a", Predicate::mutates}}));
}

TEST(Manifest, gives_each_thing_its_one_name) {
    const auto merged = checked_manifest({{" FILE:/a//b"}, {"FILE:/a/b/"}, {"@team/x/"}});
    EXPECT_EQ(*merged, (std::vector<Intent>{{"FILE:/a/b"}, {"@team/x"}}));
    EXPECT_FALSE(checked_manifest({{"FILE:/a/../b"}}));
    EXPECT_FALSE(checked_manifest({{"  "}}));
    EXPECT_FALSE(checked_manifest({{" @team/x"}})) << "blanks must not hide a namespace";
}

}  // namespace
}  // namespace holdfast::lease
