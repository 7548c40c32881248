#include "client/sessions/resp_connection.h"

#include <gtest/gtest.h>
#include <thread>

#include "client/sessions/lease_commands.h"
#include "codec/resp/resp_command.h"
#include "support/redis_process.h"

namespace holdfast::client::sessions {
namespace {

using codec::resp::Value;

RespConnection::Batch batch(std::initializer_list<std::initializer_list<std::string_view>> commands) {
    RespConnection::Batch all;
    for (const auto& words : commands)
        codec::resp::write_command(all.bytes, words);
    all.commands = commands.size();
    return all;
}

codec::resp::RedisAddress address_of(const RedisProcess& redis) {
    return *codec::resp::parse_redis(redis.url());
}

TEST(RespConnection, sends_many_commands_at_once_and_keeps_their_order) {
    RedisProcess redis;
    RespConnection connection{address_of(redis)};
    ASSERT_TRUE(connection.open(20s));
    RespConnection::Batch many;
    for (int i = 0; i < 20'000; ++i)
        codec::resp::write_command(many.bytes, {"ECHO", std::to_string(i) + std::string(100, 'x')});
    many.commands = 20'000;
    const auto answers = connection.exchange(many, 60s);
    ASSERT_TRUE(answers);
    ASSERT_EQ(answers->size(), 20'000U);
    EXPECT_EQ((*answers)[19'999].text, "19999" + std::string(100, 'x'));
}

TEST(RespConnection, hands_errors_over_as_values) {
    RedisProcess redis;
    RespConnection connection{address_of(redis)};
    ASSERT_TRUE(connection.open(20s));
    const auto answers = connection.exchange(batch({{"NOSUCH"}, {"PING"}}), 20s);
    ASSERT_TRUE(answers);
    EXPECT_TRUE((*answers)[0].is_error());
    EXPECT_EQ((*answers)[1].text, "PONG");
}

TEST(RespConnection, knows_the_scripts_as_the_store_does) {
    RedisProcess redis;
    RespConnection connection{address_of(redis)};
    ASSERT_TRUE(connection.open(20s));
    const auto answers =
        connection.exchange(batch({{"SCRIPT", "LOAD", renew_script}, {"SCRIPT", "LOAD", release_script}}), 20s);
    ASSERT_TRUE(answers);
    EXPECT_EQ((*answers)[0].text, renew_script_sha);
    EXPECT_EQ((*answers)[1].text, release_script_sha);
}

TEST(RespConnection, says_its_password_and_picks_its_database) {
    RedisProcess redis{{"--requirepass", "se:cret"}};
    auto address = address_of(redis);
    RespConnection without{address};
    ASSERT_TRUE(without.open(20s));
    EXPECT_TRUE((*without.exchange(batch({{"GET", "k"}}), 20s))[0].is_error());
    address.password = "wrong";
    RespConnection wrong{address};
    const auto refused = wrong.open(20s);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::refused);
    address.password = "se:cret";
    address.database = 3;
    RespConnection right{address};
    ASSERT_TRUE(right.open(20s));
    const auto answers = right.exchange(batch({{"SET", "k", "v"}, {"CLIENT", "INFO"}}), 20s);
    ASSERT_TRUE(answers);
    EXPECT_NE((*answers)[1].text.find(" db=3 "), std::string::npos);
}

TEST(RespConnection, connects_anew_after_a_failure) {
    RedisProcess redis;
    RespConnection connection{address_of(redis)};
    ASSERT_TRUE(*connection.open(20s)) << "a new one";
    EXPECT_FALSE(*connection.open(20s)) << "the same";
    redis.kill();
    EXPECT_FALSE(connection.exchange(batch({{"PING"}}), 20s));
    const auto away = connection.open(20s);
    ASSERT_FALSE(away);
    EXPECT_EQ(away.error().code, Code::unreachable);
    redis.start();
    EXPECT_TRUE(*connection.open(20s));
    EXPECT_TRUE(connection.exchange(batch({{"PING"}}), 20s));
}

TEST(RespConnection, gives_up_in_time_on_a_store_that_hangs) {
    RedisProcess redis;
    RespConnection connection{address_of(redis)};
    ASSERT_TRUE(connection.open(20s));
    redis.freeze();
    const auto answers = connection.exchange(batch({{"PING"}}), 200ms);
    ASSERT_FALSE(answers);
    EXPECT_EQ(answers.error().code, Code::unreachable);
    redis.thaw();
}

TEST(RespConnection, is_stopped_from_another_thread) {
    RedisProcess redis;
    RespConnection connection{address_of(redis)};
    ASSERT_TRUE(connection.open(20s));
    redis.freeze();
    std::thread stopper{[&] { connection.stop(); }};
    const auto answers = connection.exchange(batch({{"PING"}}), 1h);
    stopper.join();
    ASSERT_FALSE(answers);
    EXPECT_EQ(answers.error().code, Code::cancelled);
    redis.thaw();
}

}  // namespace
}  // namespace holdfast::client::sessions
