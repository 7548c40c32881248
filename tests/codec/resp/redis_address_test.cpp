#include "codec/resp/redis_address.h"

#include <gtest/gtest.h>

namespace holdfast::codec::resp {
namespace {

TEST(RedisAddress, reads_every_part) {
    const auto address = parse_redis("redis://me:p%40ss@db.example:7000/3");
    ASSERT_TRUE(address);
    EXPECT_EQ(*address, (RedisAddress{"db.example", 7000, "me", "p@ss", 3}));
    EXPECT_EQ(address->shown(), "redis://db.example:7000/3") << "without the password";
    EXPECT_EQ(*parse_redis("redis://127.0.0.1"), (RedisAddress{"127.0.0.1", 6379}));
    EXPECT_EQ(*parse_redis("redis://:secret@[::1]:7401/"), (RedisAddress{"::1", 7401, "", "secret"}));
}

TEST(RedisAddress, refuses_what_is_none_and_keeps_the_password_to_itself) {
    for (const char* bad : {"", "http://host", "redis://", "redis://host:0", "redis://host:70000", "redis://host:x",
                            "redis://host/x", "redis://[::1", "redis://secret@host", "redis://a b"})
        EXPECT_FALSE(parse_redis(bad)) << bad;
    EXPECT_EQ(parse_redis("redis://:secret@host:x").error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::codec::resp
