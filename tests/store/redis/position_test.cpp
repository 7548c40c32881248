#include <filesystem>
#include <gtest/gtest.h>

#include "store/redis/engine_rig.h"
#include "store/redis/plain_redis.h"
#include "support/redis_process.h"

namespace holdfast::store::redis {
namespace {

using cas::Position;
using cas::Swapped;

class RedisPosition : public testing::Test {
 protected:
    void SetUp() override { ASSERT_TRUE(rig.up()) << rig.why.message; }

    /// Writes a record anew; returns the position.
    Position write(const std::string& name) {
        const auto there = rig.fetch(name);
        const auto swapped = rig.swap({.name = name, .expected = there->value.write, .becomes = ++writes});
        EXPECT_TRUE(swapped && swapped->done) << name;
        return swapped ? swapped->position : 0;
    }
    void expect_lost(const std::string& name, Position position) {
        const auto lost = rig.swap({.name = name, .becomes = ++writes, .position = position});
        ASSERT_FALSE(lost) << "it requires " << position;
        EXPECT_EQ(lost.error().code, Code::store_lost);
        EXPECT_NE(lost.error().message.find("position"), std::string::npos) << lost.error().message;
        EXPECT_EQ(rig.fetch(name)->value.write, 0U) << "nothing was written";
    }
    void restart() {
        redis.kill();
        ASSERT_TRUE(rig.down());
        redis.start();
        ASSERT_TRUE(rig.up()) << rig.why.message;
    }

    RedisProcess redis;
    EngineRig rig{redis.url()};
    PlainRedis plain{redis.port()};
    std::uint64_t writes = 0;
};

TEST_F(RedisPosition, rises_once_for_each_call_of_the_script_that_writes) {
    EXPECT_EQ(rig.fetch("x")->position, 0U);
    const Position first = write("x");
    EXPECT_EQ(write("y"), first + 1);
    const auto refused = rig.swap({.name = "x", .becomes = 99});
    ASSERT_TRUE(refused && !refused->done);
    EXPECT_EQ(refused->position, first + 1) << "nothing was written";
    EXPECT_EQ(rig.swap({.name = "nothing", .becomes = 99, .bytes = ""})->position, first + 1);
    std::size_t done = 0;
    for (std::uint64_t i = 0; i < 10; ++i)
        rig.start_swap({.name = "z" + std::to_string(i), .becomes = 100 + i}, [&](const Result<Swapped>& swapped) {
            ASSERT_TRUE(swapped && swapped->done);
            EXPECT_EQ(swapped->position, first + 2);
            ++done;
        });
    ASSERT_TRUE(rig.until([&] { return done == 10; }));
    EXPECT_EQ(rig.fetch("x")->position, first + 2);
    EXPECT_EQ(plain({"GET", "holdfast:position"}).text, std::to_string(first + 2));
}

TEST_F(RedisPosition, is_exact_as_long_as_numbers_of_lua_are) {
    plain({"SET", "holdfast:position", "999999999999998"});
    EXPECT_EQ(write("x"), 999'999'999'999'999U);
    expect_lost("y", 1'000'000'000'000'000);
    EXPECT_TRUE(rig.swap({.name = "y", .becomes = 99, .position = 999'999'999'999'999})->done);
}

TEST_F(RedisPosition, that_a_batch_requires_is_the_highest_of_its_swaps) {
    const Position last = write("x");
    std::size_t lost = 0;
    for (std::uint64_t i = 0; i < 3; ++i)
        rig.start_swap(
            {.name = "z" + std::to_string(i), .becomes = 100 + i, .position = last + i},
            [&](const Result<Swapped>& swapped) { lost += !swapped && swapped.error().code == Code::store_lost; });
    ASSERT_TRUE(rig.until([&] { return lost == 3; }));
    EXPECT_EQ(rig.fetch("x")->position, last);
}

TEST_F(RedisPosition, is_gone_with_the_keys) {
    for (const char* command : {"FLUSHALL", "FLUSHDB"}) {
        Position last = write("x");
        last = write("x");
        plain({command});
        EXPECT_EQ(rig.fetch("x")->position, 0U);
        expect_lost("x", last);
        EXPECT_EQ(write("x"), 1U);
        expect_lost("y", last);
    }
}

TEST_F(RedisPosition, is_none_where_somebody_deleted_it_or_keeps_something_else) {
    const Position last = write("x");
    const auto spoil = [&](std::initializer_list<std::string_view> command) {
        plain({"DEL", "holdfast:position"});
        plain(command);
        const auto reading = rig.fetch("x");
        ASSERT_TRUE(reading) << reading.error().message;
        EXPECT_EQ(reading->position, 0U) << *(command.begin() + 1);
        expect_lost("y", last);
    };
    spoil({"PING", ""});
    spoil({"LPUSH", "holdfast:position", "5"});
    for (const char* text : {"", "many", "-5", "5.5", "0x7", " 7", "9999999999999999"})
        spoil({"SET", "holdfast:position", text});
    EXPECT_EQ(write("x"), 1U) << "and is counted anew";
}

TEST_F(RedisPosition, goes_back_with_an_older_copy_that_is_restored) {
    const std::string dump = redis.folder() + "/dump.rdb", copy = redis.folder() + "/copy.rdb";
    const Position copied = write("x");
    ASSERT_EQ(plain({"SAVE"}).text, "OK");
    std::filesystem::copy_file(dump, copy);
    const Position last = std::max({write("x"), write("x"), write("x")});
    ASSERT_GT(last, copied);
    ASSERT_EQ(plain({"SAVE"}).text, "OK");
    std::string history = rig.hello.history;
    restart();
    EXPECT_NE(rig.hello.history, history) << "it is another process";
    EXPECT_EQ(rig.fetch("x")->position, last) << "this copy is the newest";
    history = rig.hello.history;
    redis.kill();
    ASSERT_TRUE(rig.down());
    std::filesystem::rename(copy, dump);
    redis.start();
    ASSERT_TRUE(rig.up()) << rig.why.message;
    EXPECT_NE(rig.hello.history, history);
    EXPECT_EQ(rig.fetch("x")->position, copied);
    expect_lost("y", last);
    EXPECT_TRUE(rig.swap({.name = "y", .becomes = 99, .position = copied})->done);
}

TEST_F(RedisPosition, is_told_with_another_history_by_one_that_was_a_replica_meanwhile) {
    RedisProcess other;
    PlainRedis there{other.port()};
    there({"SET", "holdfast:r:foreign", "x"});
    ASSERT_GT(write("x"), 0U);
    const std::string history = rig.hello.history;
    EXPECT_EQ(history.find(' '), std::string::npos);
    ASSERT_EQ(plain({"REPLICAOF", "127.0.0.1", std::to_string(other.port())}).text, "OK");
    ASSERT_EQ(plain({"REPLICAOF", "NO", "ONE"}).text, "OK");
    ASSERT_TRUE(rig.until([&] { return rig.reachable && rig.hello.history != history; }))
        << "found out without a connection that broke or a request that was refused";
    ASSERT_EQ(plain({"REPLICAOF", "127.0.0.1", std::to_string(other.port())}).text, "OK");
    ASSERT_TRUE(rig.until([&] { return plain({"EXISTS", "holdfast:r:foreign"}).number == 1; })) << "all was replaced";
    ASSERT_EQ(plain({"REPLICAOF", "NO", "ONE"}).text, "OK");
    Position position = 99;
    ASSERT_TRUE(rig.until([&] {  // it may find out once more that the history is another
        const auto reading = rig.fetch("x");
        if (reading) position = reading->position;
        return static_cast<bool>(reading);
    }));
    EXPECT_EQ(position, 0U);
}

}  // namespace
}  // namespace holdfast::store::redis
