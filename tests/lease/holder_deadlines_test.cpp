#include "lease/holder_deadlines.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "lease/skew_margin.h"

namespace holdfast::lease {
namespace {

constexpr HolderInstant sent{100s};

TimedAnswer answer_for(Duration ttl, HolderInstant sent_at = sent, HolderInstant arrived_at = sent) {
    return {
        .sent_at = sent_at, .arrived_at = arrived_at, .timeline = {ttl / 3, ttl * 2 / 3, ttl * 5 / 6, ttl}, .ttl = ttl};
}

HolderDeadlines deadlines_for(Duration ttl, HolderInstant sent_at = sent) {
    return HolderDeadlines{answer_for(ttl, sent_at, sent_at)};
}

TEST(HolderDeadlines, count_from_the_moment_of_sending) {
    const HolderDeadlines deadlines{answer_for(60s, sent, sent + 7s)};
    EXPECT_EQ(deadlines.renew_at(), sent + 20s);
    EXPECT_EQ(deadlines.soft(), sent + 40s);
    EXPECT_EQ(deadlines.hard(), sent + 50s);
    EXPECT_EQ(deadlines.end(), sent + 60s - 600ms);
}

TEST(HolderDeadlines, count_the_wait_for_a_turn_but_never_from_after_the_answer) {
    TimedAnswer answer = answer_for(60s, sent, sent + 7s);
    answer.waited = 5s;
    EXPECT_EQ(HolderDeadlines{answer}.end(), sent + 65s - 600ms);
    answer.waited = 8s;
    EXPECT_EQ(HolderDeadlines{answer}.end(), sent + 67s - 600ms);
}

TEST(HolderDeadlines, keep_a_margin_of_one_percent_of_the_ttl_but_never_less_than_fifty_milliseconds) {
    EXPECT_EQ(skew_margin(60s), 600ms);
    EXPECT_EQ(skew_margin(5s), 50ms);
    EXPECT_EQ(skew_margin(1s), 50ms);
    TimedAnswer repeated = answer_for(60s);  // G7: less than the TTL is left
    repeated.timeline.expires_in = 20s;
    EXPECT_EQ(HolderDeadlines{repeated}.end(), sent + 20s - 600ms);
}

TEST(HolderDeadlines, of_an_answer_with_less_time_left_than_the_margin_are_over_before_they_begin) {
    TimedAnswer answer = answer_for(60s);
    answer.timeline = {0s, 0s, 0s, 30ms};
    EXPECT_FALSE(HolderDeadlines{answer}.held(sent));
}

TEST(HolderDeadlines, of_no_lease_are_over) {
    EXPECT_FALSE(HolderDeadlines{}.held(sent));
}

TEST(HolderDeadlines, of_two_grants_are_the_earlier_of_each) {
    const auto one = deadlines_for(60s);
    const auto other = deadlines_for(9s, sent + 1s);
    EXPECT_EQ(one.earlier_of(other), other);
    EXPECT_EQ(other.earlier_of(one), other);
}

TEST(HolderDeadlines, that_a_message_states_are_cut_until_they_are_in_order) {
    const HolderDeadlines deadlines{HolderDeadlines::Stated{sent + 4s, sent + 9s, sent + 3s, sent + 5s}};
    EXPECT_EQ(deadlines.renew_at(), sent + 3s);
    EXPECT_EQ(deadlines.soft(), sent + 3s);
    EXPECT_EQ(deadlines.hard(), sent + 3s);
    EXPECT_EQ(deadlines.end(), sent + 5s);
}

TEST(HolderDeadlines, are_moved_by_an_answer_in_time) {
    auto deadlines = deadlines_for(60s);
    EXPECT_TRUE(deadlines.on_answer(deadlines_for(60s, sent + 20s), sent + 25s));
    EXPECT_EQ(deadlines, deadlines_for(60s, sent + 20s));
}

TEST(HolderDeadlines, stay_over_whatever_is_answered_afterwards) {
    auto deadlines = deadlines_for(60s);
    EXPECT_FALSE(deadlines.on_answer(deadlines_for(60s, sent + 20s), deadlines.end()));
    EXPECT_EQ(deadlines.end(), deadlines_for(60s).end());
    EXPECT_FALSE(deadlines.held(deadlines.end()));
}

TEST(HolderDeadlines, are_over_at_once_if_the_answer_says_that_nothing_is_left) {
    auto deadlines = deadlines_for(60s);
    EXPECT_FALSE(deadlines.on_answer(deadlines_for(2s, sent + 20s), sent + 25s));
    EXPECT_FALSE(deadlines.held(sent + 25s));
}

TEST(HolderDeadlines, are_not_moved_by_a_failure_but_the_next_attempt_is) {
    auto deadlines = deadlines_for(60s);
    deadlines.on_failure(sent + 33s);
    EXPECT_EQ(deadlines.renew_at(), sent + 33s);
    EXPECT_EQ(deadlines.soft(), sent + 40s);
    EXPECT_EQ(deadlines.end(), sent + 60s - 600ms);
}

TEST(HolderDeadlines, are_hastened_by_a_part_of_the_time_that_is_left_until_the_renewal) {
    auto deadlines = deadlines_for(60s);
    deadlines.hasten(0.25, sent + 12s);
    EXPECT_EQ(deadlines.renew_at(), sent + 18s);
    deadlines.hasten(0.25, sent + 19s);
    EXPECT_EQ(deadlines.renew_at(), sent + 18s) << "due already";
}

RC_GTEST_PROP(HolderDeadlines, come_in_order_whatever_the_ttl, ()) {
    const Duration ttl = std::chrono::milliseconds(*rc::gen::inRange(52, 86'400'000));
    const auto deadlines = deadlines_for(ttl);
    RC_ASSERT(sent < deadlines.renew_at());
    RC_ASSERT(deadlines.renew_at() < deadlines.soft());
    RC_ASSERT(deadlines.soft() < deadlines.hard());
    RC_ASSERT(deadlines.hard() < deadlines.end());
    RC_ASSERT(deadlines.end() == sent + ttl - skew_margin(ttl));
}

}  // namespace
}  // namespace holdfast::lease
