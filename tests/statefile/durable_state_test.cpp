#include "statefile/durable_state.h"

#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "statefile/scratch_dir.h"

namespace holdfast::statefile {
namespace {

constexpr Instant noon{100'000s};

TEST(LongestTtl, comes_down_only_when_every_lease_of_the_old_length_has_ended) {
    LongestTtl longest(300s, 300s);
    longest.advance(noon);
    EXPECT_EQ(longest.due(), Instant::max());

    longest.policy_took_effect(10s);
    longest.advance(noon + 50s);
    EXPECT_EQ(longest.due(), noon + 350s);
    EXPECT_EQ(longest.may_lower_to(noon + 350s - 1ns), std::nullopt);
    EXPECT_EQ(longest.may_lower_to(noon + 350s), 10s);

    longest.lowered(10s);
    EXPECT_EQ(longest.due(), Instant::max());
}

TEST(LongestTtl, counts_again_from_every_change) {
    LongestTtl longest(300s, 300s);
    longest.policy_took_effect(10s);
    longest.advance(noon);
    longest.policy_took_effect(20s);
    longest.advance(noon + 299s);
    EXPECT_EQ(longest.may_lower_to(noon + 598s), std::nullopt);
    EXPECT_EQ(longest.may_lower_to(noon + 599s), 20s);
}

TEST(LongestTtl, is_not_delayed_by_a_policy_that_leaves_the_maximum_alone) {
    LongestTtl longest(300s, 10s);
    longest.advance(noon);
    longest.policy_took_effect(10s);
    longest.advance(noon + 100s);
    EXPECT_EQ(longest.due(), noon + 300s);
}

TEST(LongestTtl, goes_up_with_the_policy_at_once) {
    LongestTtl longest(10s, 10s);
    longest.advance(noon);
    longest.policy_took_effect(300s);
    longest.advance(noon);
    longest.policy_took_effect(10s);
    longest.advance(noon + 1s);
    EXPECT_EQ(longest.due(), noon + 301s) << "a lease of 300 s may have been granted in between";
}

TEST(LongestTtl, comes_down_one_bound_after_a_start_that_recovered) {
    LongestTtl longest(300s, 2s);
    longest.advance(noon);
    EXPECT_EQ(longest.due(), noon + 300s);
}

/// A state file, its worker, and a loop that runs when the test says so.
class DurableStateTest : public testing::Test {
 protected:
    DurableStateTest() {
        db_ = reopen();
        const auto begun = db_->begin([](auto&&...) {});
        EXPECT_TRUE(begun);
        durable_.emplace(DurableState::Parts{.db = *db_,
                                             .post = [this](Callback<> function) { post(std::move(function)); },
                                             .on_failure = [this](const Error& error) { failures_.push_back(error); }});
        durable_->start(LongestTtl(*begun, lease::Policy{}.ttl_max));
    }

    std::unique_ptr<StateDb> reopen() {
        auto opened = StateDb::open(scratch_.file("state.db"), {"boot", noon});
        EXPECT_TRUE(opened) << opened.error().message;
        return std::move(*opened);
    }

    void post(Callback<> function) {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(function));
    }

    void run_loop() {
        durable_->drain();
        std::vector<Callback<>> batch;
        {
            const std::lock_guard lock(mutex_);
            batch.swap(posted_);
        }
        for (Callback<>& function : batch)
            function();
    }

    /// What a later life would find.
    Found found_by_next_life() {
        durable_->stop();
        durable_.reset();
        db_.reset();
        db_ = reopen();
        return db_->found();
    }

    ScratchDir scratch_;
    std::unique_ptr<StateDb> db_;
    std::optional<DurableState> durable_;
    std::mutex mutex_;
    std::vector<Callback<>> posted_;
    std::vector<Error> failures_;
};

TEST_F(DurableStateTest, answers_on_the_loop_once_the_write_is_durable) {
    bool answered = false;
    durable_->reserve_tokens(77, [&](Result<void> outcome) {
        EXPECT_TRUE(outcome);
        answered = true;
    });
    durable_->drain();
    EXPECT_FALSE(answered) << "not from the worker's thread";
    run_loop();
    EXPECT_TRUE(answered);
    EXPECT_EQ(found_by_next_life().token_ceiling, 77U);
}

TEST_F(DurableStateTest, answers_in_the_order_of_the_calls) {
    std::vector<int> order;
    for (int i = 0; i < 20; ++i)
        durable_->reserve_tokens(static_cast<lease::Token>(100 - i), [&order, i](Result<void>) { order.push_back(i); });
    run_loop();
    std::vector<int> expected(20);
    for (int i = 0; i < 20; ++i)
        expected[static_cast<std::size_t>(i)] = i;
    EXPECT_EQ(order, expected);
    EXPECT_EQ(found_by_next_life().token_ceiling, 100U);
}

TEST_F(DurableStateTest, refuses_more_writes_than_may_wait) {
    std::atomic<int> answers = 0;
    constexpr int many = DurableState::max_waiting * 3;
    for (int i = 0; i < many; ++i)
        durable_->save_ttl_max(5min, [&](Result<void>) { ++answers; });
    run_loop();
    EXPECT_EQ(answers, many) << "each call has one answer";
    ASSERT_FALSE(failures_.empty());
    EXPECT_EQ(failures_.front().code, Code::storage_failed);
}

TEST_F(DurableStateTest, lowers_the_longest_ttl_when_the_old_leases_have_ended) {
    durable_->advance(noon);
    bool saved = false;
    durable_->save_ttl_max(2s, [&](const Result<void>& outcome) { saved = bool(outcome); });
    EXPECT_EQ(durable_->next_deadline(), Instant::max()) << "not while the change is under way";
    run_loop();
    EXPECT_TRUE(saved);
    durable_->advance(noon + 1s);
    EXPECT_EQ(durable_->next_deadline(), noon + 1s + 5min);
    durable_->advance(noon + 1s + 5min);
    run_loop();
    EXPECT_EQ(durable_->next_deadline(), Instant::max());
    EXPECT_EQ(found_by_next_life().recovering_until, noon + 2s);
}

TEST_F(DurableStateTest, keeps_the_longest_ttl_before_the_old_leases_have_ended) {
    durable_->save_ttl_max(2s, [](Result<void>) {});
    run_loop();
    durable_->advance(noon + 1s);
    durable_->advance(noon + 5min);
    run_loop();
    EXPECT_EQ(found_by_next_life().recovering_until, noon + 5min);
}

TEST_F(DurableStateTest, a_policy_on_its_way_to_the_disk_is_not_undercut) {
    durable_->save_ttl_max(2s, [](Result<void>) {});
    run_loop();
    durable_->advance(noon);
    durable_->save_ttl_max(10min, [](Result<void>) {});
    durable_->advance(noon + 5min);
    run_loop();
    durable_->advance(noon + 5min);
    run_loop();
    EXPECT_EQ(found_by_next_life().recovering_until, noon + 10min);
}

TEST_F(DurableStateTest, writes_fail_after_the_stop_and_say_so) {
    durable_->stop();
    std::optional<Result<void>> answer;
    const auto note = [&](Result<void> outcome) { answer = std::move(outcome); };
    for (const auto& write : std::vector<std::function<void()>>{[&] { durable_->reserve_tokens(5, note); },
                                                                [&] { durable_->save_ttl_max(1s, note); }}) {
        answer.reset();
        write();
        run_loop();
        ASSERT_TRUE(answer);
        ASSERT_FALSE(*answer);
        EXPECT_EQ(answer->error().code, Code::storage_failed);
    }
}

}  // namespace
}  // namespace holdfast::statefile
