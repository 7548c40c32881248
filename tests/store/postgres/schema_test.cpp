#include <fstream>
#include <gtest/gtest.h>

#include "store/postgres/engine_user.h"
#include "store/postgres/schema_version_1.h"

namespace holdfast::store::postgres {
namespace {

/// What an engine that cannot be used says.
std::string refusal_of(const std::string& url) {
    EngineUser user(url);
    EXPECT_TRUE(user.until([&] { return user.reachable || !user.why.empty(); }));
    EXPECT_FALSE(user.reachable);
    EXPECT_EQ(user.why.find("hunter2"), std::string::npos);
    EXPECT_EQ(user.engine().status().find("hunter2"), std::string::npos);
    return user.why;
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(PostgresSchema, ten_fronts_that_start_at_once_make_it_once) {
    const std::string schema = fresh_schema();
    const auto loop = std::make_shared<boost::asio::io_context>();
    std::vector<std::unique_ptr<EngineUser>> users;
    for (int i = 0; i < 10; ++i)
        users.push_back(
            std::make_unique<EngineUser>(shared_postgres().url("?schema=" + schema), EngineUser::Change{}, loop));
    for (const auto& user : users) {
        ASSERT_TRUE(user->until_reachable()) << user->why;
        EXPECT_EQ(user->why, "") << "none of them failed on the way";
        user->write("r" + std::to_string(users.size()) + std::to_string(user->next_write().count), "x");
    }
    PostgresSession session(shared_postgres().url());
    EXPECT_EQ(session.run("SELECT count(*) FROM " + schema + ".version"), "1");
    EXPECT_EQ(session.run("SELECT version FROM " + schema + ".version"), "7");
}

TEST(PostgresSchema, one_that_is_newer_than_the_program_is_left_alone_and_said_so) {
    const std::string schema = fresh_schema();
    PostgresSession session(shared_postgres().url());
    session.run("CREATE SCHEMA " + schema + "; CREATE TABLE " + schema + ".version AS SELECT 99 AS version");
    const std::string why = refusal_of(shared_postgres().url("?schema=" + schema));
    EXPECT_TRUE(says(why, "version 99") && says(why, "upgrade")) << why;
}

TEST(PostgresSchema, one_that_was_begun_is_completed) {
    const std::string schema = fresh_schema();
    PostgresSession session(shared_postgres().url());
    session.run("CREATE SCHEMA " + schema + "; CREATE TABLE " + schema + ".version AS SELECT 0 AS version");
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    user.write("r", "x");
}

/// The first version of the schema, with a row in it.
std::string make_version_1(PostgresSession& session) {
    const std::string schema = fresh_schema();
    std::string sql;
    for (const char c : schema_version_1)
        sql += c == '~' ? schema : std::string(1, c);
    session.run(sql);
    session.run(
        "INSERT INTO " + schema +
        ".kept VALUES (0, 'old', 7, 5, 9e18::bigint, 9e18::bigint, 9e18::bigint, ARRAY['ann'::bytea], 'bytes')");
    return schema;
}

TEST(PostgresSchema, of_version_1_is_taken_over_with_all_that_is_in_it) {
    PostgresSession session(shared_postgres().url());
    const std::string schema = make_version_1(session);
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    EXPECT_EQ(session.run("SELECT version FROM " + schema + ".version"), "7");
    EXPECT_EQ(user.fetch("old")->value.write, 7u);
    EXPECT_EQ(user.fetch("old")->value.bytes, "bytes");
    EXPECT_EQ(user.fetch("old")->value.written_at.time_since_epoch(), 5ns);
    EXPECT_EQ(user.of_holder("ann")->entries.size(), 1u);
    EXPECT_FALSE(user.swap(swap_of("old", 0, user.next_write(), "x"))->done) << "it is still held";
    user.write("old", "newer", 7);
    EXPECT_EQ(user.of_holder("ann")->entries.size(), 0u);
    user.write("new", "x");
}

TEST(PostgresSchema, of_version_1_is_of_no_use_any_more_to_fronts_that_were_connected_when_it_was_taken_over) {
    PostgresSession session(shared_postgres().url());
    const std::string schema = make_version_1(session);
    PostgresSession old(shared_postgres().url());
    old.run("PREPARE swap(bigint, bigint, bytea[]) AS SELECT done FROM " + schema +
            ".swap(0::smallint, 'old', $1, $2, 0, 9e18::bigint, 0, 'x', 9e18::bigint, 9e18::bigint, $3, '', false)");
    EXPECT_EQ(old.run("EXECUTE swap(7, 8, ARRAY['ann'::bytea])"), "t");
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    EXPECT_ANY_THROW(old.run("EXECUTE swap(8, 9, ARRAY['bob'::bytea])")) << "it knows nothing of today's tokens";
    EXPECT_EQ(user.of_holder("ann")->entries.size(), 1u);
    user.write("old", "y", 8);
}

/// Version 4 had the same tables, and functions that ask for no place in the server's history.
TEST(PostgresSchema, of_version_4_is_taken_over_and_of_no_use_any_more_to_its_fronts) {
    const std::string schema = fresh_schema(), url = shared_postgres().url("?schema=" + schema);
    PostgresSession session(shared_postgres().url());
    cas::WriteId kept;
    {
        EngineUser first(url);
        ASSERT_TRUE(first.until_reachable()) << first.why;
        kept = first.write("old", "bytes");
    }
    const std::string swap = schema +
                             ".swap(smallint, bytea, uuid, uuid, bigint, bigint, bigint, bytea, bigint, bigint,"
                             " bytea[], text, uuid, boolean)";
    session.run("UPDATE " + schema + ".version SET version = 4; CREATE FUNCTION " + swap +
                " RETURNS boolean LANGUAGE sql AS 'SELECT true'; CREATE FUNCTION " + schema +
                ".fetch(boolean) RETURNS boolean LANGUAGE sql AS 'SELECT true'; CREATE FUNCTION " + schema +
                ".swaps(integer) RETURNS boolean LANGUAGE sql AS 'SELECT true'");
    PostgresSession old(shared_postgres().url());
    old.run("PREPARE swap AS SELECT " + schema +
            ".swap(0::smallint, 'old', gen_random_uuid(), gen_random_uuid(), 0, 0, 0, " +
            "'x', 0, 0, '{}', '', gen_random_uuid(), false)");
    EXPECT_EQ(old.run("EXECUTE swap"), "t");
    EngineUser user(url);
    ASSERT_TRUE(user.until_reachable()) << user.why;
    EXPECT_EQ(session.run("SELECT version FROM " + schema + ".version"), "7");
    EXPECT_ANY_THROW(old.run("EXECUTE swap")) << "it would not ask for the place";
    EXPECT_EQ(session.run("SELECT count(*) FROM pg_proc WHERE pronamespace = '" + schema +
                          "'::regnamespace AND proname IN ('swap', 'swaps', 'fetch')"),
              "2");
    EXPECT_EQ(user.fetch("old")->value.write, kept);
    user.write("old", "newer", kept);
}

TEST(PostgresSchema, one_that_is_dropped_while_it_is_used_is_made_again) {
    const std::string schema = fresh_schema();
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable());
    user.write("r", "x");
    PostgresSession session(shared_postgres().url());
    session.run("SET client_min_messages = error; DROP SCHEMA " + schema + " CASCADE");
    EXPECT_TRUE(user.until([&] {
        const auto read = user.fetch("r");
        return read && read->value.write == 0;
    }));
    user.write("r", "y");
}

TEST(PostgresSchema, functions_that_somebody_replaced_are_errors_and_no_grants) {
    const std::string schema = fresh_schema();
    PostgresSession session(shared_postgres().url());
    {
        EngineUser user(shared_postgres().url("?schema=" + schema));
        ASSERT_TRUE(user.until_reachable());
    }
    session.run(
        "DROP FUNCTION " + schema + ".fetch; CREATE FUNCTION " + schema +
        ".fetch(smallint, bytea, boolean, OUT a text, OUT b bigint) LANGUAGE sql AS $$ SELECT 'x', 1::bigint $$");
    session.run("DO $do$ BEGIN EXECUTE replace(pg_get_functiondef('" + schema +
                ".swap'::regproc), 'done := true', 'done := NULL'); END $do$");
    session.run("INSERT INTO " + schema + ".kept VALUES (0, 'empty', gen_random_uuid(), 0, 0, 0, 0, '{}', '')");
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    const auto read = user.fetch("r");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::store_unavailable);
    EXPECT_TRUE(says(read.error().message, "fetch()")) << read.error().message;
    const auto page = user.scan("", "", 10);
    ASSERT_FALSE(page);
    EXPECT_TRUE(says(page.error().message, "no content")) << page.error().message;
    const auto swapped = user.swap(swap_of("r", 0, user.next_write(), "x"));
    ASSERT_FALSE(swapped);
    EXPECT_EQ(swapped.error().code, Code::store_unavailable);
}

TEST(PostgresSchema, what_others_send_on_its_channel_is_no_notice) {
    const std::string schema = fresh_schema();
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable());
    PostgresSession session(shared_postgres().url());
    session.run("NOTIFY " + schema + ", 'not = ours'");
    session.run("NOTIFY " + schema);
    cas::Swap swap = swap_of("r", 0, user.next_write(), "x");
    swap.notice = "ours";
    ASSERT_TRUE(user.swap(swap)->done);
    ASSERT_TRUE(user.until([&] { return !user.notices.empty() && user.notices.back() == "ours"; }));
}

TEST(PostgresSchema, says_what_it_lacks_without_credentials) {
    PostgresSession session(shared_postgres().url());
    session.run("CREATE ROLE needs_password LOGIN PASSWORD 'hunter2'; CREATE ROLE poor LOGIN");
    const std::string at = "@127.0.0.1:" + std::to_string(shared_postgres().port());
    const std::string schema = "?schema=" + fresh_schema();
    std::string why = refusal_of("postgres://needs_password:hunter2wrong" + at + "/postgres" + schema);
    EXPECT_TRUE(says(why, "password authentication failed")) << why;
    why = refusal_of("postgres://needs_password" + at + "/postgres" + schema);
    EXPECT_TRUE(says(why, "no password supplied")) << why;
    why = refusal_of("postgres://holdfast:hunter2" + at + "/nowhere" + schema);
    EXPECT_TRUE(says(why, "\"nowhere\" does not exist")) << why;
    why = refusal_of("postgres://poor:hunter2" + at + "/postgres" + schema);
    EXPECT_TRUE(says(why, "permission denied for database")) << why;
    why = refusal_of("postgres://poor:hunter2@no-such-host.invalid/postgres" + schema);
    EXPECT_TRUE(says(why, "no-such-host.invalid")) << why;
}

TEST(PostgresSchema, a_role_with_no_rights_but_its_own_database_is_enough) {
    PostgresSession session(shared_postgres().url());
    session.run("CREATE ROLE plain LOGIN");
    session.run("CREATE DATABASE plain OWNER plain ENCODING 'LATIN1' TEMPLATE template0");
    EngineUser user("postgresql://plain@127.0.0.1:" + std::to_string(shared_postgres().port()) + "/plain");
    ASSERT_TRUE(user.until_reachable()) << user.why;
    user.write("\xc3\xa4\xe2\x82\xac", "x");
    cas::Swap swap = swap_of("r", 0, user.next_write(), "x");
    swap.notice = "\xe2\x82\xac";
    ASSERT_TRUE(user.swap(swap)->done);
    ASSERT_TRUE(user.until([&] { return !user.notices.empty(); }));
}

TEST(PostgresSchema, a_server_that_only_reads_is_no_engine_until_it_writes) {
    PostgresProcess server({.settings = {"default_transaction_read_only=on"}});
    EngineUser user(server.url());
    ASSERT_TRUE(user.until_unreachable());
    EXPECT_TRUE(says(user.why, "read-only")) << user.why;
    PostgresSession session(server.url());
    session.run("SET default_transaction_read_only = off");
    session.run("ALTER ROLE holdfast SET default_transaction_read_only = off");
    ASSERT_TRUE(user.until_reachable());
    user.write("r", "x");
}

TEST(PostgresSchema, a_standby_is_no_engine_until_it_is_promoted_and_then_in_another_history) {
    PostgresProcess primary({.fsync = true});
    EngineUser before(primary.url());
    ASSERT_TRUE(before.until_reachable()) << before.why;
    before.write("r", "x");
    PostgresProcess standby({.fsync = true, .primary = &primary});
    EngineUser user(standby.url());
    ASSERT_TRUE(user.until_unreachable());
    EXPECT_TRUE(says(user.why, "standby")) << user.why;
    PostgresSession(standby.url()).run("SELECT pg_promote()");
    ASSERT_TRUE(user.until_reachable());
    EXPECT_NE(user.hello.history, before.hello.history);
    EXPECT_EQ(user.fetch("r")->value.bytes, "x");
}

TEST(PostgresSchema, large_answers_come_through_tls_whole) {
    PostgresProcess server({.tls = true});
    EngineUser user(server.url("?sslmode=require"));
    ASSERT_TRUE(user.until_reachable()) << user.why;
    for (const std::size_t size : {10, 8'000, 16'384, 20'000, 100'000, 1'000'000})
        user.write("r" + std::to_string(size), std::string(size, 'x'));
    for (const std::size_t size : {10, 8'000, 16'384, 20'000, 100'000, 1'000'000}) {
        const auto read = user.fetch("r" + std::to_string(size));
        ASSERT_TRUE(read) << size << " " << read.error().message;
        EXPECT_EQ(read->value.bytes.size(), size);
    }
    EXPECT_EQ(user.scan("", "", 100)->entries.size(), 6u);
    EXPECT_EQ(PostgresSession(server.url())
                  .run("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                       "WHERE application_name = 'holdfast'"),
              "t");
}

}  // namespace
}  // namespace holdfast::store::postgres
