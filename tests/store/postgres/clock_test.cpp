#include <gtest/gtest.h>

#include "store/postgres/engine_user.h"

namespace holdfast::store::postgres {
namespace {

class PostgresClockTest : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        server = std::make_unique<PostgresProcess>(PostgresProcess::Options{.own_clock = true});
    }
    static void TearDownTestSuite() { server.reset(); }

    static std::unique_ptr<PostgresProcess> server;
};
std::unique_ptr<PostgresProcess> PostgresClockTest::server;

TEST_F(PostgresClockTest, steps_of_the_servers_clock_are_in_every_answer_and_in_every_decision) {
    EngineUser user(server->url());
    ASSERT_TRUE(user.until_reachable()) << user.why;
    cas::WriteId last = user.write("r", "x");
    for (const int hours : {3, -3, 0}) {
        const cas::EngineTime before = user.fetch("r")->now;
        server->set_clock_ahead(hours * 3600.0);
        const cas::EngineTime after = user.fetch("r")->now;
        const Duration step = after - before;
        EXPECT_GT(std::chrono::abs(step), 2h) << hours;

        cas::Swap early = swap_of("r", last, user.next_write(), "y");
        early.until = std::min(before, after) - 1h;
        EXPECT_FALSE(user.swap(early)->done);
        cas::Swap fits = swap_of("r", last, user.next_write(), "y");
        fits.from = after;
        fits.until = after + 1h;
        const auto swapped = user.swap(fits);
        ASSERT_TRUE(swapped) << swapped.error().message;
        EXPECT_TRUE(swapped->done);
        last = fits.becomes;
    }
}

TEST_F(PostgresClockTest, the_first_swap_after_a_step_is_done_or_refused_but_the_next_works) {
    EngineUser user(server->url());
    ASSERT_TRUE(user.until_reachable()) << user.why;
    server->set_clock_ahead(3600);
    (void)user.swap(swap_of("s", 0, user.next_write(), "y"));
    const auto read = user.fetch("s");
    ASSERT_TRUE(read);
    user.write("s", "z", read->value.write);
    server->set_clock_ahead(0);
    user.write("s", "z", user.fetch("s")->value.write);
}

TEST_F(PostgresClockTest, nothing_is_forgotten_right_after_a_step) {
    EngineUser user(server->url(), [](PostgresEngineOptions& options) {
        options.sweep_every = 50ms;
        options.sweep_after = 3s;
    });
    ASSERT_TRUE(user.until_reachable()) << user.why;
    cas::Swap swap = swap_of("kept", 0, user.next_write(), "x");
    swap.keep_until = user.fetch("kept")->now + 1h;
    ASSERT_TRUE(user.swap(swap)->done);
    user.run_for(4s);
    server->set_clock_ahead(7200);
    ASSERT_TRUE(user.fetch("kept"));
    user.run_for(1s);
    EXPECT_EQ(user.fetch("kept")->value.write, swap.becomes);
    EXPECT_TRUE(user.until([&] { return user.fetch("kept")->value.write == 0; })) << "in the end it is";
}

}  // namespace
}  // namespace holdfast::store::postgres
