#include "redis/lua_text.h"

#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

constexpr const char* release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end";

TEST(LuaText, gives_one_form_to_what_says_the_same) {
    const std::string form = normal_form(release);
    ASSERT_FALSE(form.empty());
    for (const char* other :
         {"if redis.call(\"get\",KEYS[1])==ARGV[1] then return redis.call(\"del\",KEYS[1]) end",
          "\n\tif redis.call('GET', KEYS[1]) == ARGV[1]\n then\n return redis.call('Del', KEYS[1]);\n end;\n",
          "-- mine?\nif redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end -- yes",
          "--[[ let\n go ]] if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end",
          "if redis.pcall('get', KEYS[1]) == ARGV[1] then return redis.pcall('del', KEYS[1]) end",
          "if (redis.call('get', KEYS[1]) == ARGV[1]) then return redis.call('del', KEYS[1]) end",
          "if ((redis.call('get', KEYS[1]) == ARGV[1])) then return redis.call('del', KEYS[1]) end"})
        EXPECT_EQ(normal_form(other), form) << other;
}

TEST(LuaText, does_not_care_how_locals_are_called) {
    EXPECT_EQ(normal_form("local a = redis.call('get', KEYS[1]) if a == ARGV[1] then return a end"),
              normal_form("local token = redis.call('get', KEYS[1]) if token == ARGV[1] then return token end"));
    EXPECT_NE(normal_form("local a = 1 local b = 2 return a"), normal_form("local a = 1 local b = 2 return b"));
}

TEST(LuaText, takes_a_number_for_what_it_is_made_of) {
    EXPECT_EQ(normal_form("redis.call('pexpire', KEYS[1], tonumber(ARGV[2]))"),
              normal_form("redis.call('pexpire', KEYS[1], ARGV[2])"));
}

TEST(LuaText, keeps_what_matters_apart) {
    const std::string form = normal_form(release);
    for (const char* other :
         {"if redis.call('get', KEYS[1]) ~= ARGV[1] then return redis.call('del', KEYS[1]) end",
          "if redis.call('get', KEYS[2]) == ARGV[1] then return redis.call('del', KEYS[1]) end",
          "if redis.call('get', KEYS[1]) == ARGV[2] then return redis.call('del', KEYS[1]) end",
          "if redis.call('get', KEYS[1]) == 'ARGV[1]' then return redis.call('del', KEYS[1]) end",
          "if redis.call('get', keys[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end",
          "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('get', KEYS[1]) end",
          "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
          "if redis . other('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end",
          "if(redis.call('get', KEYS[1]) == ARGV[1]) and x then return redis.call('del', KEYS[1]) end"})
        EXPECT_NE(normal_form(other), form) << other;
}

TEST(LuaText, keeps_the_case_of_arguments) {
    EXPECT_NE(normal_form("redis.call('set', 'A')"), normal_form("redis.call('set', 'a')"));
}

TEST(LuaText, has_no_form_for_what_it_cannot_read) {
    EXPECT_EQ(normal_form("return 'open"), "");
    EXPECT_EQ(normal_form("return 'a\\'b'"), "");
    EXPECT_EQ(normal_form(""), "");
    EXPECT_EQ(normal_form("return " + std::string(max_script_bytes, '1')), "");
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += "(";
    EXPECT_EQ(normal_form(many), "");
}

TEST(LuaText, is_done_soon_with_brackets_in_brackets) {
    std::string nested;
    for (int i = 0; i < 160; ++i)
        nested += "tonumber(";
    EXPECT_FALSE(normal_form(nested).empty());
    EXPECT_FALSE(normal_form("--[[ never closed").size() > 0);
}

}  // namespace
}  // namespace holdfast::redis
