#include "net/run_queue.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace holdfast::net {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point now;

struct TestConnection : Runnable {
    explicit TestConnection(char of) : name(of) {}
    char name;
    Duration work{};  ///< left
};
using Queue = RunQueue<TestConnection>;

constexpr Queue::Limits limits{.slice = 1ms, .turn = 4ms, .shares = 100, .credit = 50ms, .max_owed = 10s};

/// Runs a turn in which time passes by work alone. Returns the names of those that ran, in order.
std::string turn(Queue& queue) {
    std::string ran;
    queue.begin_turn();
    while (TestConnection* connection = queue.next()) {
        ran += connection->name;
        while (connection->work > Duration::zero() && !queue.is_slice_over()) {
            now += 100us;
            connection->work -= 100us;
        }
        if (connection->work > Duration::zero()) queue.add(*connection);
        queue.done(*connection);
    }
    return ran;
}

class RunQueueTest : public ::testing::Test {
 protected:
    RunQueueTest() { now = {}; }

    void add(TestConnection& connection, Duration work) {
        connection.work = work;
        queue.add(connection);
    }

    Queue queue{limits, [] { return now; }};
    TestConnection a{'a'}, b{'b'}, c{'c'};
};

TEST_F(RunQueueTest, runs_each_once_in_the_order_of_arrival) {
    add(a, 100us);
    add(b, 100us);
    add(a, 100us);
    EXPECT_EQ(turn(queue), "ab");
    EXPECT_TRUE(queue.is_empty());
    EXPECT_EQ(turn(queue), "");
}

TEST_F(RunQueueTest, lets_those_with_much_work_take_slices_in_rotation) {
    add(a, 1h);
    add(b, 1h);
    EXPECT_EQ(turn(queue), "abab");
    EXPECT_EQ(turn(queue), "abab");
    EXPECT_FALSE(queue.is_empty());
}

TEST_F(RunQueueTest, runs_one_with_little_work_before_all_that_are_busy) {
    add(a, 1h);
    add(b, 1h);
    EXPECT_EQ(turn(queue), "abab");
    add(c, 100us);
    EXPECT_EQ(turn(queue), "cabab");
}

TEST_F(RunQueueTest, takes_one_for_busy_that_has_used_much_though_it_is_done) {
    add(a, 1ms);
    EXPECT_EQ(turn(queue), "a");
    add(a, 1ms);
    add(b, 100us);
    EXPECT_EQ(turn(queue), "ba");
    now += 2s;
    turn(queue);
    add(a, 1ms);
    add(b, 100us);
    EXPECT_EQ(turn(queue), "ab") << "it was quiet for long enough";
}

TEST_F(RunQueueTest, takes_one_for_busy_that_uses_much_bit_by_bit) {
    for (int i = 0; i < 10; ++i) {
        add(a, 100us);
        turn(queue);
        now += 1ms;
    }
    add(a, 100us);
    add(b, 100us);
    EXPECT_EQ(turn(queue), "ba");
    now += 2s;
    for (int i = 0; i < 100; ++i) {
        add(a, 100us);
        turn(queue);
        now += 20ms;
    }
    add(a, 100us);
    add(b, 100us);
    EXPECT_EQ(turn(queue), "ab") << "so little in a tenth of a second is not much";
}

TEST_F(RunQueueTest, takes_one_for_busy_for_as_long_as_it_owes_and_no_longer_than_the_limit) {
    add(a, 10ms);
    for (int i = 0; i < 3; ++i)
        turn(queue);
    EXPECT_TRUE(queue.is_empty());
    now += 900ms;
    turn(queue);
    add(a, 100us);
    add(b, 100us);
    EXPECT_EQ(turn(queue), "ba");
    add(a, 1h);
    for (int i = 0; i < 1000; ++i)
        turn(queue);
    a.unlink();
    now += 10s;
    turn(queue);
    add(a, 100us);
    add(b, 100us);
    EXPECT_EQ(turn(queue), "ab");
}

TEST_F(RunQueueTest, lets_a_busy_one_run_in_every_turn_however_many_others_come) {
    add(a, 1h);
    EXPECT_EQ(turn(queue), "aaaa");
    TestConnection d{'d'}, e{'e'}, f{'f'}, g{'g'};
    for (TestConnection* each : {&b, &c, &d, &e, &f, &g})
        add(*each, 900us);
    EXPECT_EQ(turn(queue), "bcdefa");
    EXPECT_EQ(turn(queue), "gaaaa");
}

TEST_F(RunQueueTest, forgets_one_that_is_destroyed) {
    auto gone = std::make_unique<TestConnection>('g');
    add(a, 100us);
    add(*gone, 100us);
    add(b, 100us);
    gone.reset();
    EXPECT_EQ(turn(queue), "ab");
}

}  // namespace
}  // namespace holdfast::net
