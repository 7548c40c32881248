#include "redis/redis_scripts.h"

#include <gtest/gtest.h>
#include <string>

namespace holdfast::redis {
namespace {

constexpr ScriptReply number(std::int8_t value) {
    return {ScriptReply::Kind::integer, value};
}
constexpr ScriptReply nothing{ScriptReply::Kind::null, 0};
constexpr ScriptReply ok{ScriptReply::Kind::ok, 0};

struct ScriptCase {
    const char* name;
    const char* text;
    Script script;
};

class RedisScripts : public testing::Test {
 protected:
    static const KnownScripts& known() {
        static const KnownScripts scripts;
        return scripts;
    }
};

TEST_F(RedisScripts, recognises_what_lock_libraries_use) {
    const ScriptCase cases[] = {
        {"the classic release",
         "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n    return redis.call(\"del\",KEYS[1])\nelse\n    return "
         "0\nend",
         {.act = ScriptAct::remove, .done = number(1)}},
        {"the classic extension",
         "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 "
         "end",
         {.act = ScriptAct::expire, .done = number(1)}},
        {"in seconds",
         "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end return 0",
         {.act = ScriptAct::expire, .seconds = true, .done = number(1)}},
        {"nothing if it is another's",
         "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return nil end",
         {.act = ScriptAct::remove, .done = number(1), .not_done = nothing, .absent = nothing}},
        {"false if it is another's",
         "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return false end",
         {.act = ScriptAct::remove, .done = number(1), .not_done = nothing, .absent = nothing}},
        {"without an else",
         "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end",
         {.act = ScriptAct::remove, .done = number(1), .not_done = nothing, .absent = nothing}},
        {"the other way round",
         "if ARGV[1] == redis.call('get', KEYS[1]) then redis.call('del', KEYS[1]) return true else return -1 end",
         {.act = ScriptAct::remove, .done = number(1), .not_done = number(-1), .absent = number(-1)}},
        {"which tells a missing key",
         "local val = redis.call(\"GET\", KEYS[1]) if val == ARGV[1] then return redis.call(\"DEL\", KEYS[1]) "
         "elseif val == false then return -1 else return 0 end",
         {.act = ScriptAct::remove, .done = number(1), .not_done = number(0), .absent = number(-1)}},
        {"which sets it again",
         "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end "
         "return 0",
         {.act = ScriptAct::expire, .by_set = true, .done = ok}},
        {"which asks for the time left",
         "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pttl', KEYS[1]) else return -3 end",
         {.act = ScriptAct::left, .done = number(0), .not_done = number(-3), .absent = number(-3)}},
        {"redis-py's release",
         "local token = redis.call('get', KEYS[1])\nif not token or token ~= ARGV[1] then\n return 0\nend\n"
         "redis.call('del', KEYS[1])\nreturn 1",
         {.act = ScriptAct::remove, .done = number(1)}},
        {"redis-py's reacquire",
         "local token = redis.call('get', KEYS[1])\nif not token or token ~= ARGV[1] then\n return 0\nend\n"
         "redis.call('pexpire', KEYS[1], ARGV[2])\nreturn 1",
         {.act = ScriptAct::expire, .done = number(1)}},
        {"redis-py's extend",
         "local token = redis.call('get', KEYS[1])\nif not token or token ~= ARGV[1] then\n return 0\nend\n"
         "local expiration = redis.call('pttl', KEYS[1])\nif not expiration then\n expiration = 0\nend\n"
         "if expiration < 0 then\n return 0\nend\n\nlocal newttl = ARGV[2]\nif ARGV[3] == \"0\" then\n"
         " newttl = ARGV[2] + expiration\nend\nredis.call('pexpire', KEYS[1], newttl)\nreturn 1",
         {.act = ScriptAct::lengthen, .done = number(1)}},
    };
    for (const ScriptCase& c : cases) {
        const auto found = known().recognise(c.text);
        ASSERT_TRUE(found) << c.name;
        EXPECT_EQ(*found, c.script) << c.name;
    }
}

TEST_F(RedisScripts, does_not_take_a_script_for_one_that_does_something_else) {
    for (const char* text : {
             "return 1",
             "return redis.call('del', KEYS[1])",
             "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[2]) else return 0 end",
             "if redis.call('get', KEYS[1]) == ARGV[2] then return redis.call('del', KEYS[1]) else return 0 end",
             "if redis.call('get', KEYS[1]) ~= ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
             "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 1 end",
             "if redis.call('hget', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
             "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('incr', KEYS[1]) else return 0 end",
             "",
             "garbage ' here",
         })
        EXPECT_FALSE(known().recognise(text)) << text;
}

TEST_F(RedisScripts, is_thrown_off_by_any_word_more_or_less) {
    const std::string text =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
    ASSERT_TRUE(known().recognise(text));
    EXPECT_FALSE(known().recognise(text + " and 1"));
    EXPECT_FALSE(known().recognise("redis.call('del', KEYS[1]) " + text));
}

TEST_F(RedisScripts, knows_how_many_keys_and_arguments_each_takes) {
    EXPECT_EQ(Script{.act = ScriptAct::remove}.arguments_least(), 1U);
    EXPECT_EQ(Script{.act = ScriptAct::expire}.arguments_least(), 2U);
    EXPECT_EQ(Script{.act = ScriptAct::remove_all}.arguments_least(), 1U);
    EXPECT_EQ(Script{.act = ScriptAct::take_all}.arguments_least(), 2U);
    EXPECT_EQ(Script{.act = ScriptAct::remove}.keys_least(), 1U);
    EXPECT_EQ(Script{.act = ScriptAct::extend_all}.keys_least(), 0U);
}

}  // namespace
}  // namespace holdfast::redis
