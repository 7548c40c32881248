#include "redis/script_cache.h"

#include <algorithm>
#include <cctype>
#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

constexpr const char* known =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

TEST(ScriptCache, names_scripts_by_the_sha1_of_their_text) {
    EXPECT_EQ(to_hex(script_name("return 1")), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    EXPECT_EQ(parse_script_name("e0e1f9fabfc9d4800c877a703b823ac0578ff8db"), script_name("return 1"));
    EXPECT_EQ(parse_script_name("E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"), script_name("return 1"));
    EXPECT_FALSE(parse_script_name("e0e1"));
    EXPECT_FALSE(parse_script_name("x0e1f9fabfc9d4800c877a703b823ac0578ff8db"));
}

TEST(ScriptCache, finds_what_was_loaded_until_it_is_flushed) {
    ScriptCache book;
    const auto name = script_name(known);
    EXPECT_EQ(book.find(name), nullptr);
    const auto loaded = book.load(known);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->name, name);
    ASSERT_NE(book.find(name), nullptr);
    EXPECT_EQ(book.find(name)->script->act, ScriptAct::remove);
    book.flush();
    EXPECT_EQ(book.find(name), nullptr);
}

TEST(ScriptCache, finds_by_the_written_name_in_either_case_and_not_after_a_flush) {
    ScriptCache book;
    const std::string other = to_hex(script_name("return 1"));
    const std::string name = to_hex(book.load(known)->name);
    std::string capitals = name;
    std::transform(capitals.begin(), capitals.end(), capitals.begin(), [](unsigned char c) { return std::toupper(c); });
    for (int i = 0; i < 2; ++i) {
        ASSERT_NE(book.find(name), nullptr);
        EXPECT_EQ(book.find(name), book.find(capitals));
        EXPECT_EQ(book.find(other), nullptr);
        EXPECT_EQ(book.find("no name"), nullptr);
    }
    book.flush();
    EXPECT_EQ(book.find(name), nullptr);
    EXPECT_EQ(book.find(capitals), nullptr);
}

TEST(ScriptCache, loads_a_script_that_it_cannot_run) {
    ScriptCache book;
    ASSERT_TRUE(book.load("return 1"));
    ASSERT_NE(book.find(script_name("return 1")), nullptr);
    EXPECT_FALSE(book.find(script_name("return 1"))->script);
}

TEST(ScriptCache, keeps_what_was_run_if_it_is_known) {
    ScriptCache book;
    EXPECT_TRUE(book.take_for_run(known));
    EXPECT_NE(book.find(script_name(known)), nullptr);
    EXPECT_FALSE(book.take_for_run("return 1"));
    EXPECT_EQ(book.find(script_name("return 1")), nullptr) << "EVAL would fill the book with what cannot be run";
}

TEST(ScriptCache, has_a_limit_and_still_runs_what_is_known) {
    ScriptCache book;
    for (std::size_t i = 0; i < ScriptCache::max_entries; ++i)
        ASSERT_TRUE(book.load("return " + std::to_string(i)));
    EXPECT_FALSE(book.load("return 'one more'"));
    EXPECT_TRUE(book.load("return 1")) << "it is there already";
    EXPECT_TRUE(book.take_for_run(known));
    EXPECT_EQ(book.size(), ScriptCache::max_entries);
}

}  // namespace
}  // namespace holdfast::redis
