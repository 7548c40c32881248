#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>

#include "store/postgres/engine_user.h"

namespace holdfast::store::postgres {
namespace {

/// Swaps that are asked for in one turn, and so go together as one statement.
class PostgresGroups : public testing::Test {
 protected:
    void SetUp() override { ASSERT_TRUE(user.until_reachable()) << user.why; }

    void ask(EngineUser& who, const cas::Swap& swap) {
        ++asked;
        who.engine().swap(swap, [this, name = std::string(swap.name)](Result<cas::Swapped> swapped) {
            ++answered;
            answers.emplace(name, std::move(swapped));
        });
    }
    bool until_answered() {
        return user.until([this] { return answered == asked; });
    }
    const cas::Swapped& answer(const std::string& name) {
        const auto found = answers.find(name);
        if (found == answers.end()) throw std::runtime_error("no answer for " + name);
        if (!found->second) throw std::runtime_error(name + ": " + found->second.error().message);
        return *found->second;
    }
    long long transactions() { return std::stoll(session.run("SELECT pg_current_xact_id()::text")); }

    std::string schema = fresh_schema();
    std::string url = shared_postgres().url("?pool=1&schema=" + schema);
    EngineUser user{url, [](PostgresEngineOptions& options) { options.answer_within = 30s; }};
    PostgresSession session{shared_postgres().url()};
    std::map<std::string, Result<cas::Swapped>> answers;
    int asked = 0, answered = 0;
};

TEST_F(PostgresGroups, of_all_kinds_are_answered_each_by_itself) {
    std::map<std::string, cas::WriteId> there;
    for (const char* name :
         {"changed", "ended", "document", "other", "other, ended", "there", "early", "late", "late, ended"})
        there[name] = user.write(name, std::string("old ") + name);
    const cas::EngineTime now = user.fetch("nothing")->now;
    const std::vector<std::string_view> holders{"ann", std::string_view("\0\\\"{},", 6), ""};
    std::map<std::string, cas::WriteId> becomes;
    const auto swap = [&](const char* name, cas::WriteId expected, std::string_view bytes) {
        cas::Swap one = swap_of(name, expected, becomes[name] = user.next_write(), bytes);
        one.holders = holders;
        one.written_at = now;
        one.notice = name;
        one.notice_must_arrive = true;
        return one;
    };
    const long long before = transactions();
    ask(user, swap("new", 0, "new"));
    ask(user, swap("new 2", 0, std::string_view("\0\xff", 2)));
    ask(user, swap("changed", there["changed"], "changed"));
    ask(user, swap("ended", there["ended"], ""));
    ask(user, swap("nothing", 0, ""));
    cas::Swap document = swap("document", 0, "another kind");
    document.kind = cas::Kind::document;
    ask(user, document);
    ask(user, swap("other", 1, "x"));
    ask(user, swap("other, ended", 1, ""));
    ask(user, swap("there", 0, "x"));
    ask(user, swap("gone", 1, "x"));
    ask(user, swap("gone, ended", 1, ""));
    cas::Swap early = swap("early", there["early"], "x");
    early.from = now + 1h;
    ask(user, early);
    for (const auto& [name, bytes] : {std::pair("late", "x"), std::pair("late, ended", "")}) {
        cas::Swap late = swap(name, there[name], bytes);
        late.until = now;
        ask(user, late);
    }
    cas::Swap late = swap("late, new", 0, "x");
    late.until = now;
    ask(user, late);
    ASSERT_TRUE(until_answered());
    EXPECT_EQ(transactions() - before, 2) << "one, and the one that asks";

    const std::vector<std::string> done{"changed", "document", "ended", "new", "new 2", "nothing"};
    for (const auto& [name, write] : becomes)
        EXPECT_EQ(answer(name).done, std::binary_search(done.begin(), done.end(), name)) << name;
    for (const auto& [name, one] : answers)
        EXPECT_GE(one->now, now) << name;
    EXPECT_EQ(user.fetch("new")->value.write, becomes["new"]);
    EXPECT_EQ(user.fetch("new")->value.written_at, now);
    EXPECT_EQ(user.fetch("new 2")->value.bytes, std::string_view("\0\xff", 2));
    EXPECT_EQ(user.fetch("changed")->value.bytes, "changed");
    EXPECT_EQ(user.fetch("ended")->value.write, 0u);
    EXPECT_EQ(user.fetch("document", cas::Kind::document)->value.bytes, "another kind");
    EXPECT_EQ(user.fetch("document")->value.bytes, "old document");
    for (const char* name : {"other", "other, ended", "there"}) {
        EXPECT_EQ(answer(name).found.write, there[name]) << name;
        EXPECT_EQ(answer(name).found.bytes, std::string("old ") + name);
    }
    for (const char* name : {"early", "late", "late, ended", "late, new", "gone", "gone, ended"}) {
        EXPECT_EQ(answer(name).found.write, there[name]) << name;
        EXPECT_EQ(answer(name).found.bytes, "");
        EXPECT_EQ(user.fetch(name)->value.write, there[name]) << name;
    }
    for (const std::string_view holder : holders)
        EXPECT_EQ(user.of_holder(std::string(holder))->entries.size(), 3u) << "new, new 2 and changed";
    ASSERT_TRUE(user.until([&] { return user.notices.size() >= done.size(); }));
    std::sort(user.notices.begin(), user.notices.end());
    EXPECT_EQ(user.notices, done) << "what was not done is not told";
}

TEST_F(PostgresGroups, with_the_same_row_twice_do_it_once_and_show_it_to_the_other) {
    const cas::WriteId first = user.write("r", "one");
    std::vector<cas::Swapped> got;
    for (const char* bytes : {"two", "three", ""})
        user.engine().swap(swap_of("r", first, user.next_write(), bytes),
                           [&](Result<cas::Swapped> swapped) { got.push_back(*swapped); });
    ask(user, swap_of("s", 0, user.next_write(), "x"));
    ASSERT_TRUE(user.until([&] { return got.size() == 3 && answered == 1; }));
    EXPECT_TRUE(answer("s").done);
    EXPECT_EQ(std::count_if(got.begin(), got.end(), [](const cas::Swapped& one) { return one.done; }), 1);
    const auto read = user.fetch("r");
    for (const cas::Swapped& one : got)
        EXPECT_TRUE(one.done || one.found.write == read->value.write);
}

TEST_F(PostgresGroups, of_a_thousand_renewals_are_few_transactions) {
    std::map<std::string, cas::WriteId> written;
    const auto write_all = [&] {
        answers.clear();
        for (int i = 0; i < 1000; ++i) {
            const std::string name = "r" + std::to_string(i);
            const cas::WriteId becomes = user.next_write();
            ask(user, swap_of(name, written[name], becomes, std::string(150, 'x')));
            written[name] = becomes;
        }
        return until_answered();
    };
    ASSERT_TRUE(write_all());
    const long long before = transactions();
    ASSERT_TRUE(write_all());
    EXPECT_LE(transactions() - before, 5);
    for (const auto& [name, write] : written)
        EXPECT_TRUE(answer(name).done);
    EXPECT_EQ(user.scan("r", "", 2000)->entries.size(), 1000u);
}

TEST_F(PostgresGroups, whose_time_is_over_while_a_row_is_locked_are_refused_for_those_and_done_for_the_others) {
    std::map<std::string, cas::WriteId> there;
    for (const char* name : {"a", "b", "c"})
        there[name] = user.write(name, "x");
    session.run("BEGIN; SELECT 1 FROM " + schema + ".kept WHERE name = 'b' FOR UPDATE");
    const cas::EngineTime now = user.fetch("b")->now;
    for (const char* name : {"a", "b", "c", "new"}) {
        cas::Swap swap = swap_of(name, there[name], user.next_write(), "y");
        if (*name == 'b') swap.until = now + 300ms;
        ask(user, swap);
    }
    ASSERT_TRUE(user.until([&] { return answered == 3; })) << "the others need not wait for it";
    EXPECT_FALSE(answers.contains("b"));
    ASSERT_TRUE(user.until([&] { return user.fetch("b")->now > now + 300ms; }));
    session.run("ROLLBACK");
    ASSERT_TRUE(until_answered());
    EXPECT_FALSE(answer("b").done);
    EXPECT_EQ(answer("b").found.write, there["b"]);
    EXPECT_GE(answer("b").now, now + 300ms);
    EXPECT_EQ(user.fetch("b")->value.bytes, "x");
    for (const char* name : {"a", "c", "new"})
        EXPECT_TRUE(answer(name).done) << name;
}

TEST_F(PostgresGroups, that_wait_for_a_row_until_the_time_of_another_is_over_do_not_write_that) {
    const cas::WriteId locked = user.write("locked", "x"), brief = user.write("brief", "x");
    session.run("BEGIN; SELECT 1 FROM " + schema + ".kept WHERE name = 'locked' FOR UPDATE");
    const cas::EngineTime now = user.fetch("brief")->now;
    cas::Swap swap = swap_of("brief", brief, user.next_write(), "y");
    swap.until = now + 100ms;  // less than a group waits for a row
    ask(user, swap);
    ask(user, swap_of("locked", locked, user.next_write(), "y"));
    user.run_for(150ms);
    session.run("COMMIT");
    ASSERT_TRUE(until_answered());
    EXPECT_TRUE(answer("locked").done);
    EXPECT_FALSE(answer("brief").done);
    EXPECT_EQ(user.fetch("brief")->value.write, brief);
}

TEST_F(PostgresGroups, of_two_fronts_that_overlap_in_opposite_orders_never_block_each_other_and_lose_no_write) {
    // It looks for deadlocks sooner than our sessions stop to wait for a row.
    PostgresProcess server({.settings = {"deadlock_timeout=5ms"}});
    auto one = std::make_unique<EngineUser>(server.url("?pool=1"), EngineUser::Change{}, user.loop());
    auto other = std::make_unique<EngineUser>(server.url("?pool=1"), EngineUser::Change{}, user.loop());
    ASSERT_TRUE(one->until_reachable() && other->until_reachable());
    const int rows = 300;
    std::map<std::string, cas::WriteId> known;
    int refused = 0;
    for (int round = 0; round < 30; ++round) {
        std::map<std::string, std::vector<cas::WriteId>> done;
        asked = answered = 0;
        for (int i = 0; i < rows; ++i)
            for (EngineUser* who : {one.get(), other.get()}) {
                const int number = who == one.get() ? i : rows - 1 - i;
                const std::string name = "r" + std::to_string(number);
                // A third of what is there ends in each round, and is made again in the next.
                const cas::WriteId becomes = who->next_write();
                const bool ends = known[name] != 0 && number % 3 == round % 3;
                ++asked;
                who->engine().swap(swap_of(name, known[name], becomes, ends ? "" : name),
                                   [&, name, ends, becomes](Result<cas::Swapped> swapped) {
                                       ++answered;
                                       ASSERT_TRUE(swapped) << swapped.error().message;
                                       if (swapped->done) done[name].push_back(ends ? 0 : becomes);
                                       refused += swapped->done ? 0 : 1;
                                   });
            }
        ASSERT_TRUE(until_answered());
        for (int i = 0; i < rows; ++i) {
            const std::string name = "r" + std::to_string(i);
            ASSERT_EQ(done[name].size(), 1u) << name << " in round " << round;
            known[name] = done[name].front();
        }
        std::size_t there = 0;
        const auto page = one->scan("r", "", 1000);
        ASSERT_TRUE(page) << page.error().message;
        for (const cas::NamedValue& entry : page->entries) {
            ASSERT_EQ(entry.value.write, known[entry.name]) << entry.name;
            ++there;
        }
        ASSERT_EQ(there, static_cast<std::size_t>(std::count_if(known.begin(), known.end(),
                                                                [](const auto& row) { return row.second != 0; })));
    }
    EXPECT_EQ(refused, 30 * rows);
    one.reset();
    other.reset();
    PostgresSession at_server(server.url());
    ASSERT_TRUE(user.until([&] {  // they report what they counted when they end
        user.run_for(20ms);
        return at_server.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'") == "0";
    }));
    EXPECT_EQ(at_server.run("SELECT sum(deadlocks) FROM pg_stat_database"), "0");
}

}  // namespace
}  // namespace holdfast::store::postgres
