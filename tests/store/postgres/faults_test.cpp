#include <gtest/gtest.h>
#include <map>

#include "base/clock.h"
#include "store/postgres/engine_user.h"
#include "support/tcp_proxy.h"

namespace holdfast::store::postgres {
namespace {

const auto quick = [](PostgresEngineOptions& options) {
    options.connect_within = 500ms;
    options.answer_within = 1s;
};

std::string url_at(std::uint16_t port, const std::string& query = {}) {
    return "postgres://holdfast@127.0.0.1:" + std::to_string(port) + "/postgres" + query;
}

/// How long an answer took.
template <class Do>
Duration timed(Do work) {
    const Instant start = store_clock_now();
    work();
    return store_clock_now() - start;
}

TEST(PostgresFaults, what_is_not_there_at_the_start_is_told_once_and_found_when_it_comes) {
    PostgresProcess server;
    server.stop();
    EngineUser user(server.url(), quick);
    ASSERT_TRUE(user.until_unreachable());
    EXPECT_NE(user.why.find("Connection refused"), std::string::npos) << user.why;
    const auto read = user.fetch("r");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::store_unavailable);
    EXPECT_NE(user.engine().status().find("\"reachable\":false"), std::string::npos);
    server.start();
    ASSERT_TRUE(user.until_reachable());
    EXPECT_TRUE(user.fetch("r"));
}

TEST(PostgresFaults, a_server_that_shuts_down_is_told_and_goes_on_in_its_history) {
    PostgresProcess server({.fsync = true});
    EngineUser user(server.url(), quick);
    ASSERT_TRUE(user.until_reachable());
    const cas::EngineHello first = user.hello;
    user.write("r", "one");
    server.stop();
    ASSERT_TRUE(user.until_unreachable());
    EXPECT_FALSE(user.fetch("r"));
    server.start();
    ASSERT_TRUE(user.until_reachable());
    EXPECT_EQ(user.hello.history, first.history);
    EXPECT_GT(user.hello.position, first.position);
    EXPECT_EQ(user.fetch("r")->value.bytes, "one");
}

TEST(PostgresFaults, the_history_is_the_same_for_all_fronts_of_a_server) {
    const std::string url = fresh_url();
    EngineUser one(url), other(url);
    ASSERT_TRUE(one.until_reachable() && other.until_reachable());
    EXPECT_EQ(one.hello.history, other.hello.history);
    EXPECT_EQ(one.hello.history.find(' '), std::string::npos) << one.hello.history;
    PostgresProcess another;
    EngineUser third(another.url());
    ASSERT_TRUE(third.until_reachable());
    EXPECT_NE(one.hello.history, third.hello.history);
}

TEST(PostgresFaults, a_server_that_is_stopped_costs_the_time_out_and_then_nothing_until_it_goes_on) {
    PostgresProcess server;
    EngineUser user(server.url(), quick);
    ASSERT_TRUE(user.until_reachable());
    const cas::WriteId first = user.write("r", "one");
    server.freeze();
    const auto lost = user.swap(swap_of("r", first, user.next_write(), "two"));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::store_unavailable);
    ASSERT_TRUE(user.until_unreachable());
    EXPECT_LT(timed([&] { EXPECT_FALSE(user.fetch("r")); }), 500ms) << "at once";
    server.thaw();
    ASSERT_TRUE(user.until_reachable());
    const auto read = user.fetch("r");
    ASSERT_TRUE(read) << read.error().message;
    user.write("r", "three", read->value.write);
}

TEST(PostgresFaults, a_swap_that_lay_in_a_buffer_for_too_long_never_takes_effect) {
    PostgresProcess server;
    EngineUser user(server.url(), quick);
    ASSERT_TRUE(user.until_reachable());
    const cas::WriteId first = user.write("r", "one");
    server.freeze();
    ASSERT_FALSE(user.swap(swap_of("r", first, user.next_write(), "two")));
    user.run_for(user.engine().swap_lingers());
    server.thaw();
    ASSERT_TRUE(user.until_reachable());
    user.run_for(1s);
    EXPECT_EQ(user.fetch("r")->value.write, first);
}

TEST(PostgresFaults, a_swap_whose_answer_was_lost_is_seen_in_what_is_there) {
    TcpProxy proxy(shared_postgres().port());
    EngineUser user(url_at(proxy.port(), "?schema=" + fresh_schema()), quick);
    ASSERT_TRUE(user.until_reachable());
    proxy.lose_answers();
    const cas::WriteId becomes = user.next_write();
    const auto lost = user.swap(swap_of("r", 0, becomes, "x"));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::store_unavailable);
    ASSERT_TRUE(user.until([&] { return user.times_reachable >= 2 && user.reachable; }));
    const auto again = user.swap(swap_of("r", 0, user.next_write(), "y"));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->done);
    EXPECT_EQ(again->found.write, becomes);
}

TEST(PostgresFaults, a_connection_that_is_cut_fails_what_is_under_way_and_comes_back) {
    TcpProxy proxy(shared_postgres().port());
    EngineUser user(url_at(proxy.port(), "?schema=" + fresh_schema()), quick);
    ASSERT_TRUE(user.until_reachable());
    proxy.delay_answers(300ms);
    int failed = 0;
    for (int i = 0; i < 100; ++i)
        user.engine().fetch(cas::Kind::record, "r" + std::to_string(i),
                            [&](auto reading) { failed += reading ? 0 : 1; });
    user.run_for(50ms);
    proxy.cut();
    ASSERT_TRUE(user.until([&] { return failed == 100; }));
    ASSERT_TRUE(user.until_unreachable());
    proxy.delay_answers({});
    proxy.allow();
    ASSERT_TRUE(user.until_reachable());
    EXPECT_TRUE(user.fetch("r"));
}

TEST(PostgresFaults, a_thousand_calls_of_one_turn_are_one_round_trip) {
    TcpProxy proxy(shared_postgres().port());
    EngineUser user(url_at(proxy.port(), "?schema=" + fresh_schema() + "&pool=1"));
    ASSERT_TRUE(user.until_reachable());
    ASSERT_TRUE(user.fetch("r"));
    proxy.delay_answers(200ms);  // longer than it takes to send and handle them all
    const std::uint64_t before = proxy.turns();
    int done = 0;
    for (int i = 0; i < 1000; ++i)
        user.engine().swap(swap_of("r" + std::to_string(i), 0, user.next_write(), "x"),
                           [&](Result<cas::Swapped> swapped) { done += swapped && swapped->done ? 1 : 0; });
    ASSERT_TRUE(user.until([&] { return done == 1000; }));
    EXPECT_LE(proxy.turns() - before, 16u) << "how often this end spoke after the other";
}

TEST(PostgresFaults, no_swap_that_was_answered_is_lost_when_all_of_it_is_killed) {
    PostgresProcess server({.fsync = true});
    EngineUser user(server.url(), quick);
    ASSERT_TRUE(user.until_reachable());
    const std::string history = user.hello.history;
    std::map<std::string, cas::WriteId> written;
    cas::Position kept = 0;
    for (int life = 0; life < 3; ++life) {
        std::size_t answered = 0;
        bool stop = false;
        std::map<std::string, cas::WriteId> pending;
        std::function<void(int)> next = [&](int number) {
            if (stop) return;
            const std::string name = "r" + std::to_string(life) + "." + std::to_string(number);
            const cas::WriteId becomes = user.next_write();
            user.engine().swap(swap_of(name, 0, becomes, "x"),
                               [&, name, becomes, number](Result<cas::Swapped> swapped) {
                                   if (!swapped) return;
                                   EXPECT_TRUE(swapped->done);
                                   ++answered;
                                   written[name] = becomes;
                                   kept = std::max(kept, swapped->position);
                                   next(number + 20);
                               });
        };
        for (int i = 0; i < 20; ++i)
            next(i);
        ASSERT_TRUE(user.until([&] { return answered >= 500; }));
        server.kill();
        stop = true;
        ASSERT_TRUE(user.until_unreachable());
        server.start();
        ASSERT_TRUE(user.until_reachable());
        EXPECT_EQ(user.hello.history, history);
        EXPECT_GE(user.hello.position, kept) << "what was said with an answer is as safe as that";
        for (const auto& [name, write] : written) {
            const auto read = user.fetch(name);
            ASSERT_TRUE(read) << read.error().message;
            ASSERT_EQ(read->value.write, write) << name;
        }
        user.why.clear();
    }
}

TEST(PostgresFaults, connections_that_are_ended_under_load_come_back_and_every_call_is_answered) {
    const std::string url = fresh_url();
    EngineUser user(url, quick);
    ASSERT_TRUE(user.until_reachable());
    PostgresSession session(shared_postgres().url());
    std::map<std::string, cas::WriteId> known;
    int asked = 0, answered = 0, done = 0, refused = 0;
    bool stop = false;
    std::function<void(std::string)> next = [&](const std::string& name) {
        if (stop) return;
        ++asked;
        const cas::WriteId becomes = user.next_write();
        user.engine().swap(swap_of(name, known[name], becomes, name), [&, name, becomes](Result<cas::Swapped> swapped) {
            ++answered;
            if (!swapped) {
                ++refused;
            } else {
                done += swapped->done ? 1 : 0;
                known[name] = swapped->done ? becomes : swapped->found.write;
            }
            next(name);
        });
    };
    for (int i = 0; i < 50; ++i)
        next("r" + std::to_string(i));
    for (int round = 0; round < 5; ++round) {
        const int before = done;
        ASSERT_TRUE(user.until([&] { return done >= before + 200; }));
        session.run(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'holdfast'" +
            std::string(round % 2 == 0 ? " AND query LIKE '%swap%'" : ""));
    }
    const int before = done;
    ASSERT_TRUE(user.until([&] { return done >= before + 200; }));
    stop = true;
    ASSERT_TRUE(user.until([&] { return asked == answered; }));
    EXPECT_GT(refused, 0) << "nothing was ended";
}

TEST(PostgresFaults, a_row_that_somebody_keeps_locked_fails_in_time_and_the_others_go_on) {
    const std::string schema = fresh_schema();
    EngineUser user(shared_postgres().url("?pool=2&schema=" + schema));
    ASSERT_TRUE(user.until_reachable());
    cas::WriteId locked = user.write("locked", "x");
    cas::WriteId free = user.write("free", "x");
    PostgresSession session(shared_postgres().url());
    session.run("BEGIN; SELECT 1 FROM " + schema + ".kept WHERE name = 'locked' FOR UPDATE");
    int failed = 0, others = 0;
    std::string why;
    for (int i = 0; i < 20; ++i)
        user.engine().swap(swap_of("locked", locked, user.next_write(), "y"), [&](Result<cas::Swapped> swapped) {
            if (swapped) return;
            ++failed;
            why = swapped.error().message;
        });
    while (failed == 0) {
        const auto swapped = user.swap(swap_of("free", free, user.next_write(), "y"));
        ASSERT_TRUE(swapped) << swapped.error().message;
        ASSERT_TRUE(swapped->done);
        free = user.fetch("free")->value.write;
        ++others;
    }
    EXPECT_GT(others, 10);
    EXPECT_NE(why.find("locked"), std::string::npos) << why;
    ASSERT_TRUE(user.until([&] { return failed == 20; }));
    EXPECT_EQ(user.fetch("locked")->value.write, locked) << "whoever only looks need not wait";
    session.run("COMMIT");
    user.write("locked", "z", locked);
    EXPECT_TRUE(user.reachable);
}

TEST(PostgresFaults, a_swap_that_waits_for_a_row_until_its_time_is_over_is_not_done) {
    const std::string schema = fresh_schema();
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable());
    const cas::WriteId first = user.write("r", "x");
    PostgresSession session(shared_postgres().url());
    session.run("BEGIN; SELECT 1 FROM " + schema + ".kept WHERE name = 'r' FOR UPDATE");
    cas::Swap swap = swap_of("r", first, user.next_write(), "y");
    swap.until = user.fetch("r")->now + 300ms;
    std::optional<Result<cas::Swapped>> answer;
    user.engine().swap(swap, [&](Result<cas::Swapped> swapped) { answer = std::move(swapped); });
    user.run_for(600ms);
    EXPECT_FALSE(answer);
    session.run("ROLLBACK");
    ASSERT_TRUE(user.until([&] { return answer.has_value(); }));
    ASSERT_TRUE(*answer) << answer->error().message;
    EXPECT_FALSE((*answer)->done);
    EXPECT_EQ((*answer)->found.write, first);
    EXPECT_GE((*answer)->now, swap.until);
}

TEST(PostgresFaults, what_was_due_is_not_shown_as_over_while_it_is_being_extended) {
    const std::string schema = fresh_schema();
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable());
    const cas::EngineTime now = user.fetch("r")->now;
    for (const char* name : {"FILE:/a/**", "FILE:/b"}) {
        cas::Swap swap = swap_of(name, 0, user.next_write(), "short");
        swap.due = now;
        ASSERT_TRUE(user.swap(swap)->done);
    }
    PostgresSession session(shared_postgres().url());
    session.run("BEGIN; UPDATE " + schema + ".kept SET bytes = 'long', due = due + 60000000000");
    int answered = 0;
    const auto see = [&](const std::string& bytes) {
        ++answered;
        EXPECT_EQ(bytes, "long");
    };
    user.engine().fetch(cas::Kind::record, "FILE:/a/**", [&](auto reading) { see(reading->value.bytes); });
    user.engine().overlapping("FILE:/a/b", 10, [&](auto read) { see(read->entries.at(0).value.bytes); });
    user.engine().overlapping("FILE:/**", 10, [&](auto read) { see(read->entries.at(1).value.bytes); });
    user.engine().swap(swap_of("FILE:/b", 0, user.next_write(), "x"), [&](auto swapped) { see(swapped->found.bytes); });
    user.run_for(100ms);
    EXPECT_EQ(answered, 0);
    session.run("COMMIT");
    ASSERT_TRUE(user.until([&] { return answered == 4; }));
}

TEST(PostgresFaults, one_call_that_fails_takes_no_other_with_it) {
    const std::string schema = fresh_schema();
    EngineUser user(shared_postgres().url("?schema=" + schema));
    ASSERT_TRUE(user.until_reachable());
    PostgresSession session(shared_postgres().url());
    session.run("CREATE FUNCTION " + schema +
                ".refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$");
    const std::string when = " FOR EACH ROW WHEN (NEW.name = '";
    session.run("CREATE TRIGGER at_once BEFORE INSERT ON " + schema + ".kept" + when + "r3') EXECUTE FUNCTION " +
                schema + ".refuse()");
    session.run("CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON " + schema +
                ".kept DEFERRABLE INITIALLY DEFERRED" + when + "r7') EXECUTE FUNCTION " + schema + ".refuse()");
    int answered = 0;
    std::map<int, Result<cas::Swapped>> answers;
    for (int i = 0; i < 10; ++i)
        user.engine().swap(swap_of("r" + std::to_string(i), 0, user.next_write(), "x"),
                           [&, i](Result<cas::Swapped> swapped) {
                               ++answered;
                               answers.emplace(i, std::move(swapped));
                           });
    ASSERT_TRUE(user.until([&] { return answered == 10; }));
    for (auto& [i, answer] : answers) {
        if (i != 3 && i != 7) {
            ASSERT_TRUE(answer) << i << answer.error().message;
            EXPECT_TRUE(answer->done);
            EXPECT_NE(user.fetch("r" + std::to_string(i))->value.write, 0u);
            continue;
        }
        ASSERT_FALSE(answer) << i;
        EXPECT_EQ(answer.error().code, Code::store_unavailable);
        EXPECT_NE(answer.error().message.find("not this one"), std::string::npos);
        EXPECT_EQ(user.fetch("r" + std::to_string(i))->value.write, 0u);
    }
    EXPECT_EQ(user.times_reachable, 1);
}

TEST(PostgresFaults, fronts_that_swap_the_same_rows_in_other_orders_never_block_each_other) {
    const std::string url = fresh_url();
    EngineUser one(url);
    EngineUser other(url, {}, one.loop());
    ASSERT_TRUE(one.until_reachable() && other.until_reachable());
    for (int round = 0; round < 20; ++round) {
        int answered = 0, done = 0;
        for (int i = 0; i < 200; ++i)
            for (EngineUser* user : {&one, &other}) {
                const int number = user == &one ? i : 199 - i;
                user->engine().swap(
                    swap_of("r" + std::to_string(round) + "." + std::to_string(number), 0, user->next_write(), "x"),
                    [&](Result<cas::Swapped> swapped) {
                        ++answered;
                        ASSERT_TRUE(swapped) << swapped.error().message;
                        done += swapped->done ? 1 : 0;
                    });
            }
        ASSERT_TRUE(one.until([&] { return answered == 400; }));
        ASSERT_EQ(done, 200);
    }
}

}  // namespace
}  // namespace holdfast::store::postgres
