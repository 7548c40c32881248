#include "store/cas/record_queue.h"

#include <gtest/gtest.h>

namespace holdfast::store::cas {
namespace {

constexpr Instant epoch{1000s};

struct Work : QueuedWork {};
using Queue = RecordQueue<Work>;

/// Counts its outcomes.
class Asked final : public Update {
 public:
    Effect apply(lease::Record&, const lease::Neighbours&, Instant) override { return Effect::none; }
    void done(Result<void> outcome) override {
        ++(outcome ? succeeded : failed);
        if (then) then();
    }

    int succeeded = 0, failed = 0;
    std::function<void()> then;
};

TEST(RecordQueue, lets_updates_wait_for_the_round_after_the_present_one) {
    Queue queue({}, 1);
    Asked first, second;
    Work& work = queue.open("r");
    EXPECT_EQ(&queue.open("r"), &work);
    queue.add(work, {&first, epoch});
    queue.take_waiting(work);
    queue.add(work, {&second, epoch});
    queue.finish(work, {});
    queue.notify();
    EXPECT_EQ(first.succeeded, 1);
    EXPECT_EQ(second.succeeded, 0);
    queue.take_waiting(work);
    queue.finish(work, Error{Code::unavailable, ""});
    queue.notify();
    EXPECT_EQ(second.failed, 1);
}

TEST(RecordQueue, keeps_the_order_of_updates_that_join_a_batch) {
    Queue queue({}, 1);
    Asked first, second;
    Work& work = queue.open("r");
    queue.add(work, {&first, epoch});
    queue.take_waiting(work);
    queue.add(work, {&second, epoch});
    queue.take_waiting(work);
    ASSERT_EQ(work.batch.size(), 2U);
    EXPECT_EQ(work.batch[0].update, &first);
    EXPECT_EQ(work.batch[1].update, &second);
    EXPECT_TRUE(work.waiting.empty());
}

TEST(RecordQueue, answers_the_updates_that_meet_a_condition_and_keeps_the_others) {
    Queue queue({}, 1);
    Asked early, late;
    Work& work = queue.open("r");
    queue.add(work, {&early, epoch});
    queue.add(work, {&late, epoch + 1s});
    queue.take_waiting(work);
    const auto over = [](const Pending& pending) { return pending.give_up_at <= epoch; };
    EXPECT_EQ(queue.finish_if(work, Error{Code::unavailable, ""}, over), 1U);
    queue.notify();
    EXPECT_EQ(early.failed, 1);
    EXPECT_EQ(late.failed + late.succeeded, 0);
    EXPECT_EQ(work.batch.size(), 1U);
}

TEST(RecordQueue, answers_nothing_before_it_is_told_to_and_then_also_what_callbacks_add) {
    Queue queue({}, 1);
    Asked first, second;
    first.then = [&] { queue.refuse(second, {Code::unavailable, ""}); };
    Work& work = queue.open("r");
    queue.add(work, {&first, epoch});
    queue.take_waiting(work);
    queue.finish(work, {});
    EXPECT_EQ(first.succeeded, 0);
    queue.notify();
    EXPECT_EQ(first.succeeded, 1);
    EXPECT_EQ(second.failed, 1);
}

TEST(RecordQueue, is_full_when_too_many_updates_are_unanswered) {
    Queue queue({}, 1);
    Asked update;
    Work& work = queue.open("r");
    for (std::size_t i = 0; i < Queue::max_updates; ++i) {
        EXPECT_FALSE(queue.is_full());
        queue.add(work, {&update, epoch});
    }
    EXPECT_TRUE(queue.is_full());
    queue.take_waiting(work);
    queue.finish(work, {});
    EXPECT_FALSE(queue.is_full());
}

TEST(RecordQueue, brings_an_answer_only_to_the_work_that_still_awaits_it) {
    Queue queue({}, 1);
    Work& work = queue.open("r");
    queue.await(work, 7, epoch);
    EXPECT_EQ(queue.awaiting(7), &work);
    queue.await(work, 8, epoch + 1s);
    EXPECT_EQ(queue.awaiting(7), nullptr);
    EXPECT_EQ(queue.awaiting(8), &work);
    EXPECT_EQ(queue.next_due(), epoch + 1s);
    queue.close(work);
    EXPECT_EQ(queue.awaiting(8), nullptr);
    EXPECT_EQ(queue.next_due(), Instant::max());
    EXPECT_EQ(queue.find("r"), nullptr);
}

TEST(RecordQueue, calls_works_due_by_time_and_then_by_age) {
    Queue queue({}, 1);
    Work& oldest = queue.open("c");
    Work& second = queue.open("b");
    Work& first = queue.open("a");
    queue.set_timer(second, epoch + 2s);
    queue.set_timer(oldest, epoch + 2s);
    queue.set_timer(first, epoch + 1s);
    EXPECT_EQ(queue.all(), (std::vector<Work*>{&oldest, &second, &first}));
    EXPECT_EQ(queue.due(epoch), nullptr);
    for (Work* expected : {&first, &oldest, &second}) {
        EXPECT_EQ(queue.due(epoch + 2s), expected);
        queue.leave(*expected);
    }
    EXPECT_EQ(queue.due(Instant::max() - 1ns), nullptr);
}

TEST(RecordQueue, pauses_longer_after_each_failure_and_never_beyond_the_latest_time) {
    Queue queue({}, 1);
    Work& work = queue.open("r");
    queue.await(work, 7, epoch + 1s);
    queue.pause(work, epoch);
    EXPECT_EQ(queue.awaiting(7), nullptr) << "an answer no longer counts";
    EXPECT_GE(work.timer, epoch + 500us);
    EXPECT_LE(work.timer, epoch + 1ms);
    Duration longest{};
    for (int failures = 1; failures < 100; ++failures) {
        queue.pause(work, epoch);
        longest = std::max(longest, work.timer - epoch);
    }
    EXPECT_GT(longest, 25ms);
    EXPECT_LE(longest, 50ms);
    queue.pause(work, epoch, epoch + 1us);
    EXPECT_EQ(work.timer, epoch + 1us);
}

}  // namespace
}  // namespace holdfast::store::cas
