#include "authority/token_source.h"

#include <gtest/gtest.h>

namespace holdfast::authority {
namespace {

TEST(Tokens, start_from_the_clock_in_milliseconds) {  // G3
    TokenSource tokens{TokenSource::first_after(0, 1'763'000'000'000)};
    tokens.raise(1'763'000'000'000 + 10);
    EXPECT_EQ(tokens.take(), 1'763'000'000'001U);
}

TEST(Tokens, start_above_the_ceiling_of_an_earlier_life_if_the_clock_was_set_back) {
    EXPECT_EQ(TokenSource::first_after(5000, 1000), 5000U);
    EXPECT_EQ(TokenSource::first_after(5000, -7), 5000U);
}

TEST(Tokens, are_not_handed_out_above_the_durable_ceiling) {
    TokenSource tokens{100};
    EXPECT_EQ(tokens.take(), std::nullopt);
    tokens.raise(102);
    EXPECT_EQ(tokens.take(), 101U);
    EXPECT_EQ(tokens.take(), 102U);
    EXPECT_EQ(tokens.take(), std::nullopt);
}

TEST(Tokens, ask_for_a_higher_ceiling_ahead_of_need_and_once_at_a_time) {
    TokenSource tokens{0};
    const auto first = tokens.wants_ceiling();
    ASSERT_EQ(first, TokenSource::reserve);
    EXPECT_EQ(tokens.wants_ceiling(), std::nullopt) << "one is under way";
    tokens.raise(*first);
    EXPECT_EQ(tokens.wants_ceiling(), std::nullopt) << "there is enough";
    while (tokens.last() < TokenSource::reserve / 2)
        tokens.take();
    EXPECT_EQ(tokens.wants_ceiling(), TokenSource::reserve / 2 + TokenSource::reserve);
    tokens.raise_failed();
    EXPECT_TRUE(tokens.wants_ceiling()) << "asks again after a failure";
}

}  // namespace
}  // namespace holdfast::authority
