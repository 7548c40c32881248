#include <gtest/gtest.h>

#include "store/postgres/engine_user.h"

namespace holdfast {
namespace {

using namespace core;

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
    EXPECT_EQ(directly.fetch("r")->kept.bytes, "x");
    EXPECT_EQ(directly.hello.life, user.hello.life);
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
    const std::string life = user.hello.life;
    EXPECT_EQ(life, before.hello.life);
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
    EXPECT_NE(user.hello.life, life);
    EXPECT_TRUE(user.hello.forgets);
    EXPECT_EQ(user.fetch("r")->kept.bytes, "x");
}

}  // namespace
}  // namespace holdfast
