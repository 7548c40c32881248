#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "store/postgres/engine_user.h"

namespace holdfast::store::postgres {
namespace {

constexpr int pool = 4;

const auto impatient = [](PostgresEngineOptions& options) {
    options.connect_within = 1s;
    options.answer_within = 1s;
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Keeps asking for swaps, each as soon as the last one was answered.
class Traffic {
 public:
    Traffic(EngineUser& user, int lanes) : user_(user) {
        for (int i = 0; i < lanes; ++i)
            next(i);
    }
    ~Traffic() {
        stopped_ = true;
        EXPECT_TRUE(user_.until([this] { return asked_ == answered; }));
    }

    int answered = 0, done = 0, failed = 0;
    std::string why;  ///< the last that failed did so

 private:
    void next(int lane) {
        if (stopped_) return;
        ++asked_;
        const std::string name = "lane " + std::to_string(lane) + "." + std::to_string(asked_);
        user_.engine().swap(swap_of(name, 0, user_.next_write(), "x"), [this, lane](Result<cas::Swapped> swapped) {
            ++answered;
            done += swapped && swapped->done ? 1 : 0;
            failed += swapped ? 0 : 1;
            if (!swapped) why = swapped.error().message;
            if (swapped || user_.reachable) return next(lane);
            later(lane);
        });
    }
    /// What is refused at once is not asked again at once.
    void later(int lane) {
        const auto timer = std::make_shared<boost::asio::steady_timer>(*user_.loop(), 20ms);
        ++asked_;
        timer->async_wait([this, lane, timer](boost::system::error_code) {
            ++answered;
            next(lane);
        });
    }

    EngineUser& user_;
    int asked_ = 0;
    bool stopped_ = false;
};

// ---- a synchronous standby that hangs ----

class PostgresHungStandby : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(user.until_reachable()) << user.why;
        user.write("r", "x");
    }
    void TearDown() override { standby.thaw(); }

    int backends() {
        session.run("SELECT pg_stat_clear_snapshot()");
        return std::stoi(session.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'"));
    }
    std::string waiting() {
        return session.run("SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    }

    PostgresProcess primary{
        {.settings = {"synchronous_standby_names=*", "max_connections=12", "superuser_reserved_connections=3"}}};
    PostgresProcess standby{{.primary = &primary, .settings = {"max_connections=12"}}};
    PostgresSession session{primary.url("?application_name=watcher")};
    std::string role = session.run(
        "SET synchronous_commit = local; CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE "
        "postgres TO plain");
    std::string url =
        "postgres://plain@127.0.0.1:" + std::to_string(primary.port()) + "/postgres?pool=" + std::to_string(pool);
    EngineUser user{url, impatient};
};

TEST_F(PostgresHungStandby, costs_no_more_connections_is_named_and_is_over_when_the_standby_goes_on) {
    int most = 0;
    standby.freeze();
    {
        Traffic traffic(user, 8);
        ASSERT_TRUE(user.until_unreachable());
        EXPECT_TRUE(has(user.why, "synchronous standby")) << user.why;
        for (int i = 0; i < 40; ++i) {
            user.run_for(200ms);
            most = std::max(most, backends());
            EXPECT_FALSE(user.reachable) << "it has not changed";
        }
        EXPECT_EQ(traffic.done, 0);
        EXPECT_GT(traffic.failed, 8);
        EXPECT_TRUE(has(traffic.why, "synchronous standby")) << traffic.why;
        EXPECT_TRUE(has(user.engine().status(), "synchronous standby")) << user.engine().status();
        standby.thaw();
        ASSERT_TRUE(user.until([&] { return traffic.done > 100; }));
    }
    EXPECT_LE(most, pool + 1 + 2);
    EXPECT_GT(most, 0);
    EXPECT_TRUE(user.reachable);
    EXPECT_EQ(user.times_reachable, 2);
}

TEST_F(PostgresHungStandby, that_is_gone_is_named_to_who_starts_then_and_waited_for) {
    standby.kill();
    EngineUser late(url, impatient, user.loop());
    ASSERT_TRUE(late.until_unreachable());
    EXPECT_TRUE(has(late.why, "synchronous standby")) << late.why;
    EXPECT_EQ(late.times_reachable, 0);
    standby.start();
    ASSERT_TRUE(late.until_reachable());
    late.write("s", "x");
    ASSERT_TRUE(user.until_reachable());
}

TEST_F(PostgresHungStandby, takes_no_commit_whose_wait_was_cancelled_for_one_that_is_done) {
    user.engine().stop();
    EngineUser patient(url, {}, user.loop());  // it would wait for longer than this takes
    const std::string all = "\"connections\":" + std::to_string(pool);
    ASSERT_TRUE(patient.until([&] { return has(patient.engine().status(), all); })) << patient.engine().status();
    standby.freeze();
    const cas::WriteId becomes = patient.next_write();
    std::optional<Result<cas::Swapped>> answer;
    patient.engine().swap(swap_of("cancelled", 0, becomes, "x"),
                          [&](Result<cas::Swapped> swapped) { answer = std::move(swapped); });
    ASSERT_TRUE(patient.until([&] { return waiting() != "0"; }));
    session.run("SELECT pg_cancel_backend(" + waiting() + ")");
    ASSERT_TRUE(patient.until([&] { return answer.has_value(); }));
    ASSERT_FALSE(*answer) << "the standby may never hear of it";
    EXPECT_EQ(answer->error().code, Code::store_unavailable);
    EXPECT_TRUE(has(answer->error().message, "synchronous standby")) << answer->error().message;
    ASSERT_TRUE(patient.until([&] {
        return session.run("SELECT count(*) FROM holdfast.kept WHERE name = 'cancelled'") == "1";
    })) << "its session says that it was cancelled a moment before others can see it";
    const auto read = patient.fetch("cancelled");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->value.write, becomes) << "what it did is seen by who looks";
}

TEST_F(PostgresHungStandby, lets_no_commit_take_effect_long_after_its_call_has_failed) {
    standby.freeze();
    const cas::WriteId becomes = user.next_write();
    ASSERT_FALSE(user.swap(swap_of("s", 0, becomes, "x")));
    ASSERT_TRUE(user.until([&] { return session.run("SELECT count(*) FROM holdfast.kept WHERE name = 's'") == "1"; }))
        << "it waits for the standby no longer";
    ASSERT_TRUE(user.until_unreachable());
    standby.thaw();
    ASSERT_TRUE(user.until_reachable());
    EXPECT_EQ(user.fetch("s")->value.write, becomes);
}

// ---- other troubles ----

class PostgresSick : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(user.until_reachable()) << user.why;
        written = user.write("r", "x");
    }
    /// Until it says that it cannot be used, with these words, and stays so; calls fail with them as well.
    void expect_trouble(const std::string& words) {
        Traffic traffic(user, 8);
        ASSERT_TRUE(user.until_unreachable()) << words;
        EXPECT_TRUE(has(user.why, words)) << user.why;
        const int times = user.times_reachable;
        user.run_for(2s);
        EXPECT_EQ(user.times_reachable, times) << "nothing has changed";
        EXPECT_TRUE(has(traffic.why, words)) << traffic.why;
        EXPECT_TRUE(has(user.engine().status(), "\"reachable\":false")) << user.engine().status();
        session.run("SELECT pg_stat_clear_snapshot()");
        EXPECT_LE(std::stoi(session.run("SELECT count(*) FROM pg_stat_activity WHERE usename = '" + role + "'")),
                  pool + 1 + 2);
    }
    /// On a busy machine a change may fail first because its answer came too late.
    void expect_a_change_to_be_denied() {
        std::string found;
        for (int attempt = 0; attempt < 60 && !has(found, "permission denied"); ++attempt) {
            const auto swapped = user.swap(swap_of("r", written, user.next_write(), "y"));
            ASSERT_FALSE(swapped);
            found = swapped.error().message;
            if (!has(found, "permission denied")) user.until_reachable();
        }
        EXPECT_TRUE(has(found, "permission denied")) << found;
    }
    void expect_recovery() {
        ASSERT_TRUE(user.until_reachable());
        const auto read = user.fetch("r");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->value.write, written);
        user.write("s", "x");
        EXPECT_TRUE(user.reachable);
    }

    std::string schema = fresh_schema();
    std::string role = "role_" + schema;
    PostgresSession session{shared_postgres().url()};
    std::string made = session.run("CREATE ROLE " + role + " LOGIN; GRANT CREATE ON DATABASE postgres TO " + role);
    std::string url = "postgres://" + role + "@127.0.0.1:" + std::to_string(shared_postgres().port()) +
                      "/postgres?schema=" + schema + "&pool=" + std::to_string(pool);
    EngineUser user{url, impatient};
    cas::WriteId written;
};

TEST_F(PostgresSick, whose_table_is_locked_says_so_until_it_is_not) {
    session.run("BEGIN; LOCK TABLE " + schema + ".kept");
    expect_trouble("canceling statement due to lock timeout");
    session.run("COMMIT");
    expect_recovery();
}

TEST_F(PostgresSick, whose_table_only_takes_no_writes_says_so_until_it_does) {
    session.run("BEGIN; LOCK TABLE " + schema + ".kept IN SHARE MODE");
    expect_trouble("canceling statement due to lock timeout");
    session.run("COMMIT");
    expect_recovery();
}

TEST_F(PostgresSick, that_takes_privileges_away_says_which_until_they_are_given_back) {
    for (const std::string right : {"INSERT", "UPDATE", "SELECT"}) {
        session.run("REVOKE " + right + " ON " + schema + ".kept FROM " + role);
        if (right == "UPDATE") expect_a_change_to_be_denied();  // the others are met by who makes something
        expect_trouble("permission denied for table kept");
        session.run("GRANT " + right + " ON " + schema + ".kept TO " + role);
        expect_recovery();
        session.run("DELETE FROM " + schema + ".kept WHERE name = 's'");
        user.why.clear();
    }
}

TEST_F(PostgresSick, whose_table_is_gone_says_which_until_it_is_there) {
    session.run("ALTER TABLE " + schema + ".kept RENAME TO other");
    expect_trouble("\"" + schema + ".kept\" does not exist");
    session.run("ALTER TABLE " + schema + ".other RENAME TO kept");
    expect_recovery();
}

TEST_F(PostgresSick, that_becomes_read_only_says_so_until_it_is_not) {
    PostgresProcess server;
    EngineUser other(server.url(), impatient, user.loop());
    ASSERT_TRUE(other.until_reachable());
    PostgresSession at_server(server.url());
    at_server.run("ALTER SYSTEM SET default_transaction_read_only = on");
    at_server.run("SELECT pg_reload_conf()");
    {
        Traffic traffic(other, 4);
        ASSERT_TRUE(other.until_unreachable());
        EXPECT_TRUE(has(other.why, "read-only")) << other.why;
    }
    at_server.run("SET default_transaction_read_only = off");
    at_server.run("ALTER SYSTEM RESET default_transaction_read_only");
    at_server.run("SELECT pg_reload_conf()");
    ASSERT_TRUE(other.until_reachable());
    other.write("s", "x");
}

TEST_F(PostgresSick, that_has_no_connection_left_says_so_until_it_has) {
    session.run("ALTER ROLE " + role + " CONNECTION LIMIT 0");
    session.run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '" + role + "'");
    ASSERT_TRUE(user.until_unreachable());
    ASSERT_TRUE(user.until([&] { return has(user.why, "too many connections for role"); }))
        << "and not only that connections were ended: " << user.why;
    EXPECT_TRUE(has(user.engine().status(), "too many connections for role")) << user.engine().status();
    session.run("ALTER ROLE " + role + " CONNECTION LIMIT -1");
    expect_recovery();
}

TEST_F(PostgresSick, that_runs_out_of_disk_says_so) {
    session.run(
        "CREATE FUNCTION " + schema +
        ".full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = "
        "'could not extend file: No space left on device'; END $$");
    session.run("CREATE TRIGGER full_disk BEFORE INSERT ON " + schema + ".kept EXECUTE FUNCTION " + schema + ".full()");
    expect_trouble("No space left on device");
    session.run("DROP TRIGGER full_disk ON " + schema + ".kept");
    expect_recovery();
}

TEST_F(PostgresSick, fails_one_row_only_where_only_that_is_the_matter) {
    session.run("BEGIN; SELECT 1 FROM " + schema + ".kept WHERE name = 'r' FOR UPDATE");
    const auto swapped = user.swap(swap_of("r", written, user.next_write(), "y"));
    ASSERT_FALSE(swapped);
    EXPECT_TRUE(has(swapped.error().message, "locked")) << swapped.error().message;
    user.write("s", "x");
    session.run("COMMIT");
    user.write("r", "y", written);
    EXPECT_EQ(user.times_reachable, 1);
    EXPECT_EQ(user.why, "");
}

}  // namespace
}  // namespace holdfast::store::postgres
