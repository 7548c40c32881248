#include "client/keeper.h"

#include <gtest/gtest.h>

namespace holdfast::client {
namespace {

constexpr HolderInstant start{1000s};

lease::HolderDeadlines deadlines_from(HolderInstant sent_at, Duration ttl = 60s) {
    return lease::HolderDeadlines{lease::TimedAnswer{
        .sent_at = sent_at, .arrived_at = sent_at, .timeline = {ttl / 3, ttl * 2 / 3, ttl * 5 / 6, ttl}, .ttl = ttl}};
}

class KeeperTest : public testing::Test {
 protected:
    KeeperTest() { keeper.add({1, deadlines_from(start)}, start); }

    /// Sends the first renewal at the moment it is due.
    HolderInstant send_first() {
        const HolderInstant due = keeper.next();
        EXPECT_EQ(keeper.take_due(due), std::vector<Keeper::Key>{1});
        return due;
    }

    Keeper keeper{Random(7)};
};

TEST_F(KeeperTest, renews_when_a_third_of_the_time_is_gone_or_a_little_sooner) {
    EXPECT_LE(keeper.next(), start + 20s);
    EXPECT_GE(keeper.next(), start + 16s);
    EXPECT_TRUE(keeper.take_due(keeper.next() - 1s).empty());
}

TEST_F(KeeperTest, does_not_send_a_second_renewal_while_one_is_under_way) {
    const auto sent_at = send_first();
    EXPECT_TRUE(keeper.take_due(sent_at + 10s).empty());
    EXPECT_EQ(keeper.next(), deadlines_from(start).end());
}

TEST_F(KeeperTest, counts_a_late_reply_from_when_the_renewal_was_sent) {
    const auto sent_at = send_first();
    EXPECT_EQ(keeper.answer(1, RenewalGranted{deadlines_from(sent_at)}, sent_at + 30s), Outcome::granted);
    EXPECT_TRUE(keeper.take_ended(sent_at + 59s).empty());
    EXPECT_EQ(keeper.take_ended(sent_at + 60s - 600ms), std::vector<Keeper::Key>{1});
}

TEST_F(KeeperTest, does_not_believe_a_reply_that_comes_after_the_deadline) {
    const auto sent_at = send_first();
    const auto end = deadlines_from(start).end();
    EXPECT_EQ(keeper.answer(1, RenewalGranted{deadlines_from(sent_at)}, end), Outcome::lost);
    EXPECT_EQ(keeper.size(), 0U);
}

TEST_F(KeeperTest, follows_a_renewal_that_shortens_the_lease) {
    const auto sent_at = send_first();
    EXPECT_EQ(keeper.answer(1, RenewalGranted{deadlines_from(sent_at, 5s)}, sent_at), Outcome::granted);
    EXPECT_EQ(keeper.take_ended(sent_at + 5s), std::vector<Keeper::Key>{1});
}

TEST_F(KeeperTest, loses_the_lease_at_once_when_a_renewal_is_rejected) {
    for (const Code code : {Code::lease_expired, Code::lease_released, Code::lease_revoked, Code::unknown_lease,
                            Code::not_holder, Code::banned}) {
        Keeper fresh{Random(7)};
        fresh.add({1, deadlines_from(start)}, start);
        const auto due = fresh.next();
        ASSERT_EQ(fresh.take_due(due).size(), 1U);
        EXPECT_EQ(fresh.answer(1, RenewalRejected{code}, due), Outcome::lost) << name_of(code);
        EXPECT_EQ(fresh.next(), HolderInstant::max());
    }
}

TEST_F(KeeperTest, retries_an_unanswered_renewal_until_the_deadline_and_not_longer) {
    HolderInstant now = send_first();
    int tries = 1;
    while (keeper.answer(1, RenewalUnanswered{}, now) == Outcome::uncertain) {
        now = keeper.next();
        if (keeper.take_due(now).empty()) break;
        ++tries;
    }
    EXPECT_GT(tries, 15);
    EXPECT_LT(tries, 200);
    EXPECT_EQ(keeper.next(), deadlines_from(start).end());
    EXPECT_EQ(keeper.take_ended(keeper.next()), std::vector<Keeper::Key>{1});
}

TEST_F(KeeperTest, waits_longer_after_each_failure) {
    HolderInstant now = send_first();
    ASSERT_EQ(keeper.answer(1, RenewalUnanswered{}, now), Outcome::uncertain);
    const Duration first_pause = keeper.next() - now;
    for (int i = 0; i < 5; ++i) {
        now = keeper.next();
        ASSERT_EQ(keeper.take_due(now).size(), 1U);
        ASSERT_EQ(keeper.answer(1, RenewalUnanswered{}, now), Outcome::uncertain);
    }
    EXPECT_LE(first_pause, 20ms);
    EXPECT_GE(keeper.next() - now, 300ms);
}

TEST_F(KeeperTest, lets_a_barred_lease_run_out_without_asking_again) {
    const auto sent_at = send_first();
    EXPECT_EQ(keeper.answer(1, RenewalRejected{Code::renewal_barred}, sent_at), Outcome::uncertain);
    EXPECT_EQ(keeper.next(), deadlines_from(start).end());
    EXPECT_TRUE(keeper.take_due(deadlines_from(start).end() - 1ms).empty());
    EXPECT_EQ(keeper.take_ended(deadlines_from(start).end()), std::vector<Keeper::Key>{1});
}

TEST_F(KeeperTest, recovers_from_uncertainty_when_a_retry_gets_through) {
    HolderInstant now = send_first();
    ASSERT_EQ(keeper.answer(1, RenewalUnanswered{}, now), Outcome::uncertain);
    now = keeper.next();
    ASSERT_EQ(keeper.take_due(now).size(), 1U);
    EXPECT_EQ(keeper.answer(1, RenewalGranted{deadlines_from(now)}, now), Outcome::granted);
    EXPECT_GE(keeper.next(), now + 16s);
}

TEST_F(KeeperTest, renews_neighbours_together) {
    keeper.add({2, deadlines_from(start)}, start);
    keeper.add({3, deadlines_from(start + 40s)}, start);
    // Two leases of the same moment differ by jitter only: a window of 50 ms before either seldom holds both.
    Keeper together{Random(7)};
    const lease::HolderDeadlines due_at_once{
        lease::HolderDeadlines::Stated{start, start + 40s, start + 50s, start + 59s}};
    for (Keeper::Key key = 1; key <= 5; ++key)
        together.add({key, due_at_once}, start);
    EXPECT_EQ(together.take_due(start).size(), 5U);
}

TEST_F(KeeperTest, only_watches_the_end_of_a_lease_that_is_not_to_be_renewed) {
    Keeper watching{Random(7)};
    watching.add({.key = 9, .deadlines = deadlines_from(start), .renew = false}, start);
    EXPECT_EQ(watching.next(), deadlines_from(start).end());
    EXPECT_TRUE(watching.take_due(start + 30s).empty());
    EXPECT_EQ(watching.take_ended(deadlines_from(start).end()), std::vector<Keeper::Key>{9});
}

TEST_F(KeeperTest, forgets_a_removed_lease_and_the_answer_to_its_last_renewal) {
    const auto sent_at = send_first();
    keeper.remove(1);
    EXPECT_EQ(keeper.next(), HolderInstant::max());
    EXPECT_EQ(keeper.answer(1, RenewalGranted{deadlines_from(sent_at)}, sent_at), Outcome::lost);
    EXPECT_EQ(keeper.size(), 0U);
}

TEST_F(KeeperTest, does_not_renew_a_lease_that_ended_while_the_process_was_stopped) {
    const auto long_after = start + 1h;
    EXPECT_TRUE(keeper.take_due(long_after).empty());
    EXPECT_EQ(keeper.take_ended(long_after), std::vector<Keeper::Key>{1});
}

}  // namespace
}  // namespace holdfast::client
