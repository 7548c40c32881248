#include "store/cas/token_blocks.h"

#include <gtest/gtest.h>

#include "server/front/front_world.h"

namespace holdfast::store::cas {
namespace {

constexpr std::int64_t noon_ms = 1'800'000'000'000;
constexpr lease::Token noon = lease::Token{noon_ms} * TokenBlocks::per_ms;

}  // namespace

class TokenBlocksTest : public testing::Test {
 protected:
    TokenBlocks blocks(SimEngine& of) {
        return TokenBlocks({of, world.writes(), [this] { return wall_ms; }});
    }
    std::optional<lease::Token> first_of(TokenBlocks& tokens) {
        world.each_step = [&](Instant now) { tokens.advance(now); };
        world.run_until([&] { return tokens.last().has_value(); });
        return tokens.last();
    }

    server::FrontWorld world;
    std::int64_t wall_ms = noon_ms;
    SimEngine engine{world.server};
};

TEST_F(TokenBlocksTest, begin_at_the_front_s_clock_where_the_engine_has_none) {
    TokenBlocks tokens = blocks(engine);
    EXPECT_EQ(first_of(tokens), noon);
}

TEST_F(TokenBlocksTest, begin_at_the_engine_s_clock_and_not_at_the_front_s) {
    world.server.wall_ms = noon_ms;
    wall_ms = noon_ms + 3'600'000;
    TokenBlocks tokens = blocks(engine);
    EXPECT_EQ(first_of(tokens), noon);
}

TEST_F(TokenBlocksTest, of_two_fronts_do_not_meet) {
    SimEngine other{world.server};
    TokenBlocks first = blocks(engine), second = blocks(other);
    const lease::Token a = *first_of(first);
    wall_ms = 0;  // a front whose clock is far off
    EXPECT_GE(*first_of(second), a + TokenBlocks::min_size);
}

TEST_F(TokenBlocksTest, rise_though_the_engine_has_lost_everything) {
    TokenBlocks tokens = blocks(engine);
    lease::Token highest = 0;
    for (int second = 0; second < 60; ++second, wall_ms += 1000) {
        highest = *first_of(tokens) + 100;
        tokens.given(highest);
        world.pass(1s);
    }
    world.server.things.clear();
    TokenBlocks later = blocks(engine);
    EXPECT_GT(*first_of(later), highest);
}

TEST_F(TokenBlocksTest, rise_though_the_clock_goes_back) {
    TokenBlocks tokens = blocks(engine);
    const lease::Token before = *first_of(tokens) + TokenBlocks::min_size;
    tokens.given(before);
    wall_ms -= 3'600'000;
    world.pass(2s);
    EXPECT_GE(*first_of(tokens), before);
}

TEST_F(TokenBlocksTest, run_ahead_of_the_clock_by_less_than_a_second_however_many_are_given) {
    TokenBlocks tokens = blocks(engine);
    lease::Token given = 0;
    for (int ms = 0; ms < 10'000; ms += 10, wall_ms += 10) {
        world.each_step = [&](Instant now) { tokens.advance(now); };
        world.pass(10ms);
        for (int i = 0; i < 5000 && tokens.last(); ++i, ++given)
            tokens.given(*tokens.last() + 1);
        const lease::Token clock = static_cast<lease::Token>(wall_ms) * TokenBlocks::per_ms;
        ASSERT_LT(tokens.last().value_or(0), clock + 1000 * TokenBlocks::per_ms) << ms;
    }
    EXPECT_GT(given, 3'000'000U);
}

TEST_F(TokenBlocksTest, are_renewed_before_they_are_too_old) {
    TokenBlocks tokens = blocks(engine);
    const lease::Token first = *first_of(tokens);
    for (int tenths = 0; tenths < 300; ++tenths) {
        world.pass(100ms);
        ASSERT_TRUE(tokens.last()) << tenths;
    }
    EXPECT_GT(*tokens.last(), first);
}

TEST_F(TokenBlocksTest, do_not_take_a_clock_for_one_that_shows_what_no_token_can_be) {
    world.server.wall_ms = std::int64_t{1} << 43;
    TokenBlocks tokens = blocks(engine);
    EXPECT_LT(*first_of(tokens), TokenBlocks::max_size);
}

TEST_F(TokenBlocksTest, are_not_given_of_a_block_that_is_older_than_a_few_seconds) {
    TokenBlocks tokens = blocks(engine);
    ASSERT_TRUE(first_of(tokens));
    world.server.set_reachable(false);
    engine.set_reachable(false);
    world.pass(TokenBlocks::usable_for - 500ms);
    EXPECT_TRUE(tokens.last());
    world.pass(1s);
    EXPECT_FALSE(tokens.last());
}

TEST_F(TokenBlocksTest, are_reserved_anew_when_half_are_given) {
    TokenBlocks tokens = blocks(engine);
    const lease::Token begin = *first_of(tokens);
    tokens.given(begin + TokenBlocks::min_size / 2 + 1);
    EXPECT_EQ(tokens.last(), begin + TokenBlocks::min_size / 2 + 1);
    world.run_until([&] { return tokens.last() >= begin + TokenBlocks::min_size; });
}

}  // namespace holdfast::store::cas
