#include <gtest/gtest.h>

#include "base/random.h"
#include "store/postgres/engine_user.h"

namespace holdfast::store::postgres {
namespace {

std::string url_of(const PostgresProcess& one, const PostgresProcess& other, const std::string& query = {}) {
    return "postgres://holdfast@127.0.0.1:" + std::to_string(one.port()) +
           ",127.0.0.1:" + std::to_string(other.port()) + "/postgres" + query;
}

TEST(PostgresHosts, of_which_the_first_is_down_are_one_engine) {
    PostgresProcess down, up;
    down.stop();
    EngineUser user(url_of(down, up));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    user.write("r", "x");
    EngineUser directly(up.url());
    ASSERT_TRUE(directly.until_reachable()) << directly.why;
    EXPECT_EQ(directly.fetch("r")->value.bytes, "x");
    EXPECT_EQ(directly.hello.history, user.hello.history);
}

TEST(PostgresHosts, of_which_the_first_refuses_writes_take_one_that_does_not) {
    PostgresProcess reads({.settings = {"default_transaction_read_only=on"}}), writes;
    EngineUser user(url_of(reads, writes, "?target_session_attrs=read-write"));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    user.write("r", "x");
    EXPECT_EQ(PostgresSession(writes.url()).run("SELECT count(*) FROM holdfast.kept"), "1");
    EXPECT_EQ(PostgresSession(reads.url()).run("SELECT to_regnamespace('holdfast') IS NULL"), "t");
}

TEST(PostgresHosts, go_on_with_the_standby_once_it_was_promoted) {
    PostgresProcess primary({.fsync = true});
    EngineUser before(primary.url());
    ASSERT_TRUE(before.until_reachable()) << before.why;
    before.write("r", "x");
    PostgresProcess standby({.fsync = true, .primary = &primary});
    EngineUser user(url_of(primary, standby, "?target_session_attrs=read-write"));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    const std::string history = user.hello.history;
    EXPECT_EQ(history, before.hello.history);
    const std::string written = PostgresSession(primary.url()).run("SELECT pg_current_wal_lsn()");
    PostgresSession at_standby(standby.url());
    ASSERT_TRUE(user.until([&] {
        user.run_for(20ms);
        return at_standby.run("SELECT pg_last_wal_replay_lsn() >= '" + written + "'") == "t";
    }));
    primary.kill();
    ASSERT_TRUE(user.until_unreachable());
    at_standby.run("SELECT pg_promote()");
    ASSERT_TRUE(user.until_reachable());
    EXPECT_NE(user.hello.history, history);
    EXPECT_EQ(user.fetch("r")->value.bytes, "x");
}

TEST(PostgresHosts, of_which_the_one_that_took_over_lacks_what_the_other_had_answered_refuse_every_swap) {
    PostgresProcess primary({.fsync = true});
    EngineUser user(primary.url());
    ASSERT_TRUE(user.until_reachable()) << user.why;
    const cas::WriteId early = user.write("early", "x");
    PostgresProcess stale({.fsync = true, .primary = &primary});
    stale.stop();      // one that only hangs gets what is on its way
    std::string much;  // more than it writes by itself when it is promoted
    Random random(1);
    while (much.size() < 3'000'000)
        much += static_cast<char>(random.below(256));
    const auto done = user.swap(swap_of("late", 0, user.next_write(), much));
    ASSERT_TRUE(done && done->done);
    primary.kill();
    stale.start();
    PostgresSession(stale.url()).run("SELECT pg_promote()");
    EngineUser after(stale.url());
    ASSERT_TRUE(after.until_reachable()) << after.why;
    EXPECT_NE(after.hello.history, user.hello.history);
    EXPECT_LT(after.fetch("early")->position, done->position);
    for (const auto& [name, expected] : {std::pair("late", cas::WriteId(0)), std::pair("early", early)}) {
        cas::Swap swap = swap_of(name, expected, after.next_write(), "y");
        swap.position = done->position;
        const auto refused = after.swap(swap);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::store_lost);
    }
    EXPECT_EQ(after.fetch("early")->value.write, early);
    EXPECT_EQ(after.fetch("late")->value.write, 0u);
}

TEST(PostgresHosts, have_on_the_synchronous_standby_whatever_position_was_said_with_a_swap_that_is_done) {
    PostgresProcess primary({.fsync = true, .settings = {"synchronous_standby_names=*"}});
    PostgresProcess standby({.fsync = true, .primary = &primary});
    EngineUser user(primary.url());
    ASSERT_TRUE(user.until_reachable()) << user.why;
    PostgresSession at_standby(standby.url());
    int answered = 0;
    for (int i = 0; i < 100; ++i)
        user.engine().swap(swap_of("r" + std::to_string(i), 0, user.next_write(), std::string(1000, 'x')),
                           [&](Result<cas::Swapped> swapped) {
                               ASSERT_TRUE(swapped && swapped->done);
                               const std::string kept = at_standby.run("SELECT pg_last_wal_receive_lsn() - '0/0'");
                               EXPECT_LE(swapped->position, std::stoull(kept));
                               EXPECT_GT(swapped->position, 0u);
                               ++answered;
                           });
    ASSERT_TRUE(user.until([&] { return answered == 100; }));
}

}  // namespace
}  // namespace holdfast::store::postgres
