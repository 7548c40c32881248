#include "front/token_blocks.h"

#include <gtest/gtest.h>

#include "front_world.h"

namespace holdfast::core {
namespace {

class TokenBlocksTest : public testing::Test {
 protected:
    TokenBlocks blocks(SimEngine& of) {
        return TokenBlocks({of, world.writes(), [this] { return wall_ms; }});
    }
    std::optional<Token> first_of(TokenBlocks& tokens) {
        world.each_step = [&](Instant now) { tokens.advance(now); };
        world.run_until([&] { return tokens.last().has_value(); });
        return tokens.last();
    }

    FrontWorld world;
    std::int64_t wall_ms = 1'800'000'000'000;
    SimEngine engine{world.server};
};

TEST_F(TokenBlocksTest, begin_at_the_clock_of_an_engine_that_has_none) {
    TokenBlocks tokens = blocks(engine);
    EXPECT_EQ(first_of(tokens), 1'800'000'000'000U);
}

TEST_F(TokenBlocksTest, of_two_fronts_do_not_meet) {
    SimEngine other{world.server};
    TokenBlocks first = blocks(engine), second = blocks(other);
    const Token a = *first_of(first);
    wall_ms = 0;  // a front whose clock is far off
    const Token b = *first_of(second);
    EXPECT_GE(b, a + TokenBlocks::size + TokenBlocks::gap);
}

TEST_F(TokenBlocksTest, are_renewed_before_they_are_too_old) {
    TokenBlocks tokens = blocks(engine);
    const Token first = *first_of(tokens);
    for (int second = 0; second < 180; ++second) {
        world.pass(1s);
        ASSERT_TRUE(tokens.last()) << second;
    }
    EXPECT_GT(*tokens.last(), first);
}

}  // namespace

TEST(TokenBlocks, gives_no_token_of_a_block_that_is_a_minute_old) {
    FrontWorld world;
    SimEngine engine{world.server};
    TokenBlocks tokens({engine, world.writes(), [] { return std::int64_t{1}; }});
    world.each_step = [&](Instant now) { tokens.advance(now); };
    world.run_until([&] { return tokens.last().has_value(); });
    world.server.set_reachable(false);
    engine.set_reachable(false);
    world.pass(TokenBlocks::usable_for - 1s);
    EXPECT_TRUE(tokens.last());
    world.pass(2s);
    EXPECT_FALSE(tokens.last());
}

TEST(TokenBlocks, asks_for_more_when_half_are_given) {
    FrontWorld world;
    SimEngine engine{world.server};
    TokenBlocks tokens({engine, world.writes(), [] { return std::int64_t{1}; }});
    world.each_step = [&](Instant now) { tokens.advance(now); };
    world.run_until([&] { return tokens.last().has_value(); });
    const Token begin = *tokens.last();
    tokens.given(begin + TokenBlocks::size / 2 + 1);
    EXPECT_EQ(tokens.last(), begin + TokenBlocks::size / 2 + 1);
    world.run_until([&] { return *tokens.last() >= begin + TokenBlocks::size; });
}

}  // namespace holdfast::core
