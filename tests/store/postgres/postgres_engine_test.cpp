#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "base/random.h"
#include "store/contract/marker_check.h"
#include "store/postgres/engine_user.h"

namespace holdfast::store::postgres {
namespace {

class PostgresEngineTest : public testing::Test {
 protected:
    void SetUp() override { ASSERT_TRUE(user.until_reachable()) << user.why; }

    cas::EngineTime now() { return user.fetch("nothing")->now; }
    std::vector<std::string> names(const Result<cas::FoundRecords>& read) {
        std::vector<std::string> found;
        if (read)
            for (const cas::NamedValue& entry : read->entries)
                found.push_back(entry.name);
        std::sort(found.begin(), found.end());
        return found;
    }

    std::string url = fresh_url();
    EngineUser user{url};
};

TEST_F(PostgresEngineTest, swaps_only_where_the_marker_is_still_what_was_seen) {
    contract::check_that_swaps_ask_for_the_marker([&](const cas::Swap& swap) { return user.swap(swap); });
}

/// Swaps that travel in one statement are refused together.
TEST_F(PostgresEngineTest, swaps_many_at_once_only_where_the_marker_is_still_what_was_seen) {
    std::size_t answered = 0, done = 0, lost = 0;
    const auto ask = [&](cas::WriteId marker) {
        answered = done = lost = 0;
        for (std::uint64_t i = 1; i <= 20; ++i) {
            const std::string name = "many" + std::to_string(i);
            cas::Swap swap = swap_of(name, 0, user.next_write(), "x");
            swap.marker = marker;
            user.engine().swap(swap, [&](const Result<cas::Swapped>& swapped) {
                ++answered;
                done += swapped && swapped->done;
                lost += !swapped && swapped.error().code == Code::store_lost;
            });
        }
        EXPECT_TRUE(user.until([&] { return answered == 20; }));
    };
    ask({1, 1});
    EXPECT_EQ(lost, 20U);
    ASSERT_TRUE(user.swap(swap_of(cas::marker_name, 0, {1, 1}, "x"))->done);
    ask({1, 1});
    EXPECT_EQ(done, 20U);
}

TEST_F(PostgresEngineTest, keeps_what_was_swapped_in_and_shows_it_with_its_time) {
    const auto before = user.fetch("r");
    ASSERT_TRUE(before) << before.error().message;
    EXPECT_EQ(before->value.write, 0u);
    EXPECT_EQ(before->value.bytes, "");

    cas::Swap swap = swap_of("r", 0, 0xffff'ff00'0000'0001, std::string_view("a\0b\xff", 4));
    swap.written_at = before->now;
    const auto swapped = user.swap(swap);
    ASSERT_TRUE(swapped) << swapped.error().message;
    EXPECT_TRUE(swapped->done);
    EXPECT_GE(swapped->now, before->now);

    const auto after = user.fetch("r");
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(after->value.write, 0xffff'ff00'0000'0001);
    EXPECT_EQ(after->value.written_at, before->now);
    EXPECT_EQ(after->value.bytes, std::string_view("a\0b\xff", 4));
    EXPECT_GE(after->now, swapped->now);
}

TEST_F(PostgresEngineTest, its_time_is_that_of_the_server) {
    PostgresSession session(url.substr(0, url.find('?')));
    const auto ms = [&] {
        return std::stoll(session.run("SELECT (extract(epoch FROM clock_timestamp())*1000)::bigint"));
    };
    const long long low = ms();
    const auto read = user.fetch("r");
    const long long high = ms();
    ASSERT_TRUE(read);
    const long long shown = std::chrono::floor<std::chrono::milliseconds>(read->now.time_since_epoch()).count();
    EXPECT_GE(shown, low - 1);
    EXPECT_LE(shown, high);
}

TEST_F(PostgresEngineTest, refuses_a_swap_of_what_is_not_there_and_shows_what_is) {
    const cas::WriteId first = user.write("r", "one");
    for (const cas::WriteId expected : {cas::WriteId{0}, cas::WriteId{12345}}) {
        const auto swapped = user.swap(swap_of("r", expected, user.next_write(), "two"));
        ASSERT_TRUE(swapped) << swapped.error().message;
        EXPECT_FALSE(swapped->done);
        EXPECT_EQ(swapped->found.write, first);
        EXPECT_EQ(swapped->found.bytes, "one");
    }
    const auto absent = user.swap(swap_of("s", first, user.next_write(), "two"));
    ASSERT_TRUE(absent) << absent.error().message;
    EXPECT_FALSE(absent->done);
    EXPECT_EQ(absent->found.write, 0u);
    EXPECT_EQ(user.fetch("s")->value.write, 0u);
    EXPECT_EQ(user.fetch("r")->value.bytes, "one");
}

TEST_F(PostgresEngineTest, refuses_a_swap_at_the_wrong_time_and_says_only_that_the_write_is_as_expected) {
    const cas::WriteId first = user.write("r", "one");
    const cas::EngineTime about = now();
    for (const bool exists : {true, false})
        for (const bool early : {true, false})
            for (const std::string bytes : {"two", ""}) {
                cas::Swap swap = swap_of(exists ? "r" : "s", exists ? first : 0, user.next_write(), bytes);
                if (early)
                    swap.from = about + 1h;
                else
                    swap.until = about;
                const auto swapped = user.swap(swap);
                ASSERT_TRUE(swapped) << swapped.error().message;
                EXPECT_FALSE(swapped->done);
                EXPECT_EQ(swapped->found.write, swap.expected);
                EXPECT_EQ(swapped->found.bytes, "");
            }
    EXPECT_EQ(user.fetch("r")->value.write, first);
    EXPECT_EQ(user.fetch("s")->value.write, 0u);

    cas::Swap swap = swap_of("r", first, user.next_write(), "two");
    swap.from = about - 1h;
    swap.until = about + 1h;
    EXPECT_TRUE(user.swap(swap)->done);
}

TEST_F(PostgresEngineTest, forgets_what_is_swapped_for_nothing) {
    const cas::WriteId first = user.write("r", "one");
    EXPECT_TRUE(user.swap(swap_of("r", first, user.next_write(), ""))->done);
    EXPECT_EQ(user.fetch("r")->value.write, 0u);
    EXPECT_TRUE(user.swap(swap_of("r", 0, user.next_write(), ""))->done) << "nothing for nothing";
    const cas::WriteId second = user.write("r", "two");
    const auto old = user.swap(swap_of("r", first, user.next_write(), "three"));
    EXPECT_FALSE(old->done);
    EXPECT_EQ(old->found.write, second);
    EXPECT_FALSE(user.swap(swap_of("r", 0, user.next_write(), ""))->done);
}

TEST_F(PostgresEngineTest, keeps_documents_apart_from_records) {
    user.write("x", "record");
    cas::Swap swap = swap_of("x", 0, user.next_write(), "document");
    swap.kind = cas::Kind::document;
    EXPECT_TRUE(user.swap(swap)->done);
    EXPECT_EQ(user.fetch("x")->value.bytes, "record");
    EXPECT_EQ(user.fetch("x", cas::Kind::document)->value.bytes, "document");
    EXPECT_EQ(user.scan("", "", 10)->entries.size(), 1u);
    EXPECT_EQ(user.scan("", "", 10, cas::Kind::document)->entries.at(0).value.bytes, "document");
}

TEST_F(PostgresEngineTest, takes_names_and_contents_of_any_bytes) {
    const std::string name("@ns/\0\xff\xfe';--\\x00 \xc3\xa4", 17);
    const std::string large(1'000'000, '\xee');
    const cas::WriteId write = user.write(name, large);
    EXPECT_EQ(user.fetch(name)->value.bytes, large);
    EXPECT_EQ(user.scan("@ns/", "", 10)->entries.at(0).name, name);
    user.write(name, "small", write);
    EXPECT_EQ(user.fetch(name)->value.bytes, "small");
}

TEST_F(PostgresEngineTest, of_many_who_swap_the_same_at_once_one_has_done_it) {
    EngineUser other(url, {}, user.loop());
    ASSERT_TRUE(other.until_reachable());
    int done = 0, answered = 0, raced = 0;
    cas::WriteId last = 0;
    for (int round = 0; round < 50; ++round) {
        done = answered = 0;
        const cas::WriteId expected = last;
        for (int i = 0; i < 20; ++i) {
            EngineUser& one = i % 2 == 0 ? user : other;
            const cas::WriteId becomes = one.next_write();
            one.engine().swap(swap_of("contended", expected, becomes, std::to_string(becomes.count)),
                              [&, becomes](Result<cas::Swapped> swapped) {
                                  ++answered;
                                  ASSERT_TRUE(swapped) << swapped.error().message;
                                  if (!swapped->done) {
                                      EXPECT_NE(swapped->found.write, expected);
                                      EXPECT_EQ(swapped->found.bytes, std::to_string(swapped->found.write.count));
                                      ++raced;
                                      return;
                                  }
                                  ++done;
                                  last = becomes;
                              });
        }
        ASSERT_TRUE(user.until([&] { return answered == 20; }));
        ASSERT_EQ(done, 1);
        ASSERT_EQ(user.fetch("contended")->value.write, last);
    }
    EXPECT_EQ(raced, 50 * 19);
}

TEST_F(PostgresEngineTest, finds_what_overlaps_with_a_file_or_a_tree) {
    for (const char* name :
         {"FILE:/a/b/c", "FILE:/a/b/**", "FILE:/a/**", "FILE:/**", "FILE:/a/b", "FILE:/a/bc", "FILE:/a/b/c/d",
          "@ns/FILE:/a/b/c", "@ns/FILE:/a/**", "FILE:a/b/**", "FILE:a/b/c", "FILE:/a/b0", "other", "FILE:/a/b/c/**"})
        user.write(name, "x");
    using Names = std::vector<std::string>;
    EXPECT_EQ(names(user.overlapping("FILE:/a/b/c")), (Names{"FILE:/**", "FILE:/a/**", "FILE:/a/b/**"}));
    EXPECT_EQ(names(user.overlapping("FILE:/a/b/**")),
              (Names{"FILE:/**", "FILE:/a/**", "FILE:/a/b/c", "FILE:/a/b/c/**", "FILE:/a/b/c/d"}));
    EXPECT_EQ(names(user.overlapping("FILE:/a/b/new/**")), (Names{"FILE:/**", "FILE:/a/**", "FILE:/a/b/**"}));
    EXPECT_EQ(names(user.overlapping("@ns/FILE:/a/b/c")), (Names{"@ns/FILE:/a/**"}));
    EXPECT_EQ(names(user.overlapping("FILE:a/b/c")), (Names{"FILE:a/b/**"}));
    EXPECT_EQ(names(user.overlapping("FILE:/**")).size(), 8u);
    EXPECT_EQ(names(user.overlapping("other")), Names{});
    const auto cut = user.overlapping("FILE:/**", 3);
    EXPECT_EQ(cut->entries.size(), 3u);
    EXPECT_TRUE(cut->cut);
    EXPECT_FALSE(user.overlapping("FILE:/**", 8)->cut);
    std::string deep = "FILE:";
    while (deep.size() < 4090)
        deep += "/a";
    EXPECT_EQ(names(user.overlapping(deep)), (Names{"FILE:/**", "FILE:/a/**"}));
}

TEST_F(PostgresEngineTest, finds_what_was_written_with_a_holder) {
    const std::vector<std::string_view> both{"ann", "bob"}, one{"ann"}, none;
    cas::WriteId last = 0;
    const auto write = [&](const char* name, std::span<const std::string_view> holders, cas::WriteId expected) {
        cas::Swap swap = swap_of(name, expected, user.next_write(), name);
        swap.holders = holders;
        EXPECT_TRUE(user.swap(swap)->done);
        last = swap.becomes;
    };
    write("r", both, 0);
    const cas::WriteId first = last;
    write("s", one, 0);
    EXPECT_EQ(names(user.of_holder("ann")), (std::vector<std::string>{"r", "s"}));
    EXPECT_EQ(names(user.of_holder("bob")), (std::vector<std::string>{"r"}));
    EXPECT_TRUE(user.of_holder("ann", 1)->cut);
    write("r", none, first);
    EXPECT_EQ(names(user.of_holder("ann")), (std::vector<std::string>{"s"}));
    EXPECT_EQ(names(user.of_holder("bob")), (std::vector<std::string>{}));
}

TEST_F(PostgresEngineTest, shows_all_names_that_begin_alike_page_by_page) {
    std::vector<std::string> wanted;
    for (int i = 0; i < 25; ++i)
        wanted.push_back("p/" + std::to_string(100 + i));
    for (const std::string& name : wanted)
        user.write(name, "x");
    user.write("o/1", "x");
    user.write("p0", "x");
    std::vector<std::string> found;
    std::string after;
    do {
        const auto page = user.scan("p/", after, 10);
        ASSERT_TRUE(page) << page.error().message;
        ASSERT_LE(page->entries.size(), 10u);
        for (const cas::NamedValue& entry : page->entries)
            found.push_back(entry.name);
        after = page->next;
    } while (!after.empty());
    EXPECT_EQ(found, wanted);
}

TEST_F(PostgresEngineTest, shows_large_records_on_short_pages_and_no_more_at_once_than_it_can_hold) {
    PostgresSession session(url.substr(0, url.find('?')));
    const std::string schema = url.substr(url.find("test_"));
    session.run(
        "INSERT INTO " + schema +
        ".kept SELECT 0, convert_to('FILE:/r/' || 100 + i, 'UTF8'), gen_random_uuid(), 0, 9e18::bigint, 9e18::bigint, "
        "9e18::bigint, ARRAY['ann'::bytea], convert_to(repeat('x', 1000000), 'UTF8') FROM generate_series(1, 70) i");
    std::size_t found = 0, pages = 0;
    std::string after;
    do {
        const auto page = user.scan("FILE:/r/", after, 1000);
        ASSERT_TRUE(page) << page.error().message;
        ASSERT_LE(page->entries.size(), 10u);
        for (const cas::NamedValue& entry : page->entries)
            EXPECT_EQ(entry.name, "FILE:/r/" + std::to_string(101 + found++));
        ++pages;
        after = page->next;
    } while (!after.empty());
    EXPECT_EQ(found, 70u);
    EXPECT_LE(pages, 10u);
    for (const auto& read : {user.of_holder("ann"), user.overlapping("FILE:/r/**")}) {
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, Code::store_unavailable);
        EXPECT_NE(read.error().message.find("too large"), std::string::npos) << read.error().message;
    }
    EXPECT_EQ(user.of_holder("ann", 50)->entries.size(), 50u);
    EXPECT_TRUE(user.reachable);
}

TEST_F(PostgresEngineTest, names_what_was_due_seconds_ago_and_nobody_has_written_since) {
    const cas::EngineTime about = now();
    const auto write = [&](const char* name, cas::EngineTime due, cas::WriteId expected = 0) {
        cas::Swap swap = swap_of(name, expected, user.next_write(), "x");
        swap.due = due;
        swap.keep_until = about + 1h;
        EXPECT_TRUE(user.swap(swap)->done);
        return swap.becomes;
    };
    write("late", about - 10s);
    const cas::WriteId renewed = write("renewed", about - 10s);
    write("renewed", about + 1h, renewed);
    write("soon", about + 1h);
    write("just now", about);
    user.write("never", "x");
    EXPECT_EQ(*user.overdue(), std::vector<std::string>{"late"});
    EXPECT_EQ(*user.overdue(), std::vector<std::string>{}) << "whoever was told first has some time for it";
    std::vector<std::string> again;
    EXPECT_TRUE(user.until([&] { return !(again = *user.overdue()).empty(); })) << "but not forever";
}

TEST_F(PostgresEngineTest, forgets_records_that_are_past_their_time_when_its_clock_has_run_evenly) {
    const cas::EngineTime about = now();
    const auto write = [&](const std::string& name, cas::EngineTime keep_until, cas::Kind kind = cas::Kind::record) {
        cas::Swap swap = swap_of(name, 0, user.next_write(), "x");
        swap.keep_until = keep_until;
        swap.kind = kind;
        EXPECT_TRUE(user.swap(swap)->done);
    };
    for (int i = 0; i < 50; ++i)
        write("old/" + std::to_string(i), about - 1s);
    write("young", about + 1h);
    write("forever", cas::EngineTime::max());
    write("document", cas::EngineTime::max(), cas::Kind::document);
    EngineUser sweeper(url, [](PostgresEngineOptions& options) {
        options.sweep_every = 50ms;
        options.sweep_after = 1s;
    });
    ASSERT_TRUE(sweeper.until([&] { return sweeper.reachable && sweeper.scan("old/", "", 100)->entries.empty(); }));
    EXPECT_EQ(user.scan("", "", 100)->entries.size(), 2u);
    EXPECT_EQ(user.scan("", "", 100, cas::Kind::document)->entries.size(), 1u);
}

TEST_F(PostgresEngineTest, tells_notices_to_all_fronts_itself_included) {
    EngineUser other(url, {}, user.loop());
    ASSERT_TRUE(other.until_reachable());
    EngineUser stranger(fresh_url(), {}, user.loop());
    ASSERT_TRUE(stranger.until_reachable());
    cas::Swap swap = swap_of("r", 0, user.next_write(), "x");
    swap.notice = std::string_view("\0 may \xff be lost", 14);
    ASSERT_TRUE(user.swap(swap)->done);
    swap = swap_of("s", 0, user.next_write(), "x");
    const std::string longest(cas::Engine::notice_bytes, '\xfe');
    swap.notice = longest;
    swap.notice_must_arrive = true;
    ASSERT_TRUE(user.swap(swap)->done);
    swap.becomes = user.next_write();
    swap.notice = "not done, so not told";
    ASSERT_FALSE(user.swap(swap)->done);
    const auto told = [&](const EngineUser& who) {
        return std::count(who.notices.begin(), who.notices.end(), std::string("\0 may \xff be lost", 14)) == 1 &&
               std::count(who.notices.begin(), who.notices.end(), longest) == 1;
    };
    EXPECT_TRUE(user.until([&] { return told(user) && told(other); }));
    EXPECT_EQ(user.notices.size(), 2u);
    EXPECT_EQ(stranger.notices.size(), 0u);
}

TEST_F(PostgresEngineTest, sends_a_burst_of_notices_together_and_each_once) {
    const int calls = 1000;
    int done = 0;
    for (int i = 0; i < calls; ++i) {
        const std::string name = "r" + std::to_string(i);
        cas::Swap swap = swap_of(name, 0, user.next_write(), "x");
        swap.notice = name;
        user.engine().swap(swap, [&](Result<cas::Swapped> swapped) { done += swapped && swapped->done ? 1 : 0; });
    }
    ASSERT_TRUE(user.until([&] { return user.notices.size() == calls; })) << user.notices.size() << " " << done;
    EXPECT_EQ(done, calls);
    std::sort(user.notices.begin(), user.notices.end());
    EXPECT_EQ(std::unique(user.notices.begin(), user.notices.end()), user.notices.end());
}

TEST_F(PostgresEngineTest, a_thousand_calls_of_one_turn_are_few_transactions) {
    PostgresSession session(url.substr(0, url.find('?')));
    const auto last_transaction = [&] { return std::stoll(session.run("SELECT pg_current_xact_id()::text")); };
    const long long before = last_transaction();
    int answered = 0;
    std::map<std::string, cas::WriteId> written;
    for (int i = 0; i < 1000; ++i) {
        const std::string name = "r" + std::to_string(i);
        const cas::WriteId becomes = user.next_write();
        user.engine().swap(swap_of(name, 0, becomes, name), [&, name, becomes](Result<cas::Swapped> swapped) {
            ++answered;
            ASSERT_TRUE(swapped) << swapped.error().message;
            ASSERT_TRUE(swapped->done);
            written[name] = becomes;
        });
    }
    ASSERT_TRUE(user.until([&] { return answered == 1000; }));
    EXPECT_EQ(written.size(), 1000u);
    EXPECT_LE(last_transaction() - before, 40) << "transactions that wrote something";
    int read = 0;
    for (const auto& [name, write] : written)
        user.engine().fetch(cas::Kind::record, name, [&, wanted = write](Result<cas::Reading> reading) {
            ASSERT_TRUE(reading) << reading.error().message;
            EXPECT_EQ(reading->value.write, wanted);
            ++read;
        });
    ASSERT_TRUE(user.until([&] { return read == 1000; }));
}

TEST_F(PostgresEngineTest, renewals_leave_the_indexes_alone) {
    PostgresSession session(url.substr(0, url.find('?')));
    const cas::EngineTime about = now();
    std::map<std::string, cas::WriteId> written;
    const std::vector<std::string_view> holders{"ann"};
    const auto write_all = [&](Duration later) {
        std::size_t answered = 0;
        for (int i = 0; i < 200; ++i) {
            const std::string name = "r" + std::to_string(i);
            cas::Swap swap = swap_of(name, written[name], user.next_write(), name);
            swap.due = about + 60s + later;
            swap.keep_until = about + 360s + later;
            swap.holders = holders;
            user.engine().swap(swap, [&, name, becomes = swap.becomes](Result<cas::Swapped> swapped) {
                ++answered;
                EXPECT_TRUE(swapped && swapped->done);
                written[name] = becomes;
            });
        }
        EXPECT_TRUE(user.until([&] { return answered == 200; }));
    };
    for (int round = 0; round < 20; ++round)
        write_all(round * 1s);
    const std::string schema = url.substr(url.find("test_"));
    const auto count = [&](const std::string& column) {
        session.run("SELECT pg_stat_clear_snapshot()");
        return std::stoll(session.run("SELECT coalesce(sum(" + column +
                                      "), 0) FROM pg_stat_user_tables WHERE schemaname = '" + schema + "'"));
    };
    // The server gathers these once a second.
    ASSERT_TRUE(user.until([&] {
        user.run_for(50ms);
        return count("n_tup_upd") >= 19 * 200;
    }));
    // An update that changes an indexed column is never HOT, so with one there were none. Others are not HOT either if
    // their page is full because a snapshot elsewhere keeps old rows from being pruned: on a busy machine, up to half.
    EXPECT_GE(count("n_tup_hot_upd"), 19 * 200 / 10);
}

TEST_F(PostgresEngineTest, says_its_position_with_every_answer_and_never_an_earlier_one) {
    cas::Position last = user.hello.position;
    EXPECT_GT(last, 0u);
    const auto goes_on = [&](cas::Position position, const char* what) {
        EXPECT_GE(position, last) << what;
        last = std::max(last, position);
    };
    goes_on(user.fetch("r")->position, "fetch");
    const cas::WriteId first = user.next_write(), second = user.next_write();
    const auto made = user.swap(swap_of("r", 0, first, "x"));
    ASSERT_TRUE(made->done);
    EXPECT_GT(made->position, last) << "it has written something";
    goes_on(made->position, "made");
    const auto changed = user.swap(swap_of("r", first, second, "y"));
    ASSERT_TRUE(changed->done);
    EXPECT_GT(changed->position, last);
    goes_on(changed->position, "changed");
    for (const cas::WriteId expected : {cas::WriteId(0), first}) {
        const auto refused = user.swap(swap_of("r", expected, user.next_write(), "z"));
        ASSERT_FALSE(refused->done);
        goes_on(refused->position, "refused");
    }
    const auto ended = user.swap(swap_of("r", second, user.next_write(), ""));
    ASSERT_TRUE(ended->done);
    goes_on(ended->position, "ended");
    int answered = 0;
    for (int i = 0; i < 10; ++i)
        user.engine().swap(swap_of("r" + std::to_string(i % 9), 0, user.next_write(), "x"),
                           [&](Result<cas::Swapped> swapped) {
                               ++answered;
                               ASSERT_TRUE(swapped) << swapped.error().message;
                               EXPECT_GE(swapped->position, last) << swapped->done;
                           });
    ASSERT_TRUE(user.until([&] { return answered == 10; }));
}

TEST_F(PostgresEngineTest, swaps_nothing_where_it_has_not_come_as_far_as_it_must_have) {
    const cas::WriteId first = user.write("changed", "x"), other = user.write("ended", "x");
    std::string much;  // what the swap writes itself would bring it there
    Random random(1);
    while (much.size() < 3'000'000)
        much += static_cast<char>(random.below(256));
    const auto swap = [&](const char* name, cas::WriteId expected, std::string_view bytes, cas::Position position) {
        cas::Swap one = swap_of(name, expected, user.next_write(), bytes);
        one.position = position;
        one.notice = "a notice";
        one.notice_must_arrive = position % 2 == 0;  // by either statement
        return one;
    };
    for (int i = 0; i < 2; ++i) {
        const cas::Position beyond = user.fetch("r")->position + 1'000'000 + static_cast<cas::Position>(i);
        for (const cas::Swap& one : {swap("made", 0, much, beyond), swap("changed", first, much, beyond),
                                     swap("ended", other, "", beyond), swap("changed", 0, much, beyond)}) {
            const auto lost = user.swap(one);
            ASSERT_FALSE(lost) << one.name;
            EXPECT_EQ(lost.error().code, Code::store_lost);
            EXPECT_NE(lost.error().message.find("write-ahead log"), std::string::npos) << lost.error().message;
        }
    }
    EXPECT_EQ(user.fetch("made")->value.write, 0u);
    EXPECT_EQ(user.fetch("changed")->value.write, first);
    EXPECT_EQ(user.fetch("ended")->value.write, other);
    const cas::Position there = user.fetch("r")->position;
    EXPECT_TRUE(user.swap(swap("made", 0, "y", there))->done);
    EXPECT_TRUE(user.swap(swap("changed", first, "y", there))->done);
    EXPECT_TRUE(user.swap(swap("ended", other, "", there))->done);
    EXPECT_TRUE(user.reachable);
}

TEST_F(PostgresEngineTest, swaps_of_one_moment_are_none_of_them_done_where_it_has_not_come_as_far_as_one_says) {
    const cas::Position there = user.fetch("r")->position;
    const auto all_of = [&](cas::Position highest) {
        int answered = 0, done = 0, lost = 0;
        for (int i = 0; i < 20; ++i) {
            const std::string name = "r" + std::to_string(i);
            cas::Swap one = swap_of(name, 0, user.next_write(), "x");
            one.position = i == 7 ? highest : i % 2 == 0 ? there : 0;
            user.engine().swap(one, [&](Result<cas::Swapped> swapped) {
                ++answered;
                done += swapped && swapped->done ? 1 : 0;
                lost += !swapped && swapped.error().code == Code::store_lost ? 1 : 0;
            });
        }
        EXPECT_TRUE(user.until([&] { return answered == 20; }));
        return std::pair(done, lost);
    };
    EXPECT_EQ(all_of(there + 10'000'000), std::pair(0, 20));
    EXPECT_EQ(user.scan("r", "", 100)->entries.size(), 0u);
    EXPECT_EQ(all_of(there), std::pair(20, 0));
}

TEST_F(PostgresEngineTest, status_says_what_people_should_know_and_no_password) {
    EngineUser secret("postgres://holdfast:hunter2@127.0.0.1:" + std::to_string(shared_postgres().port()) +
                      "/postgres?schema=" + fresh_schema() + "&pool=2");
    ASSERT_TRUE(secret.until_reachable());
    const std::string status = secret.engine().status();
    EXPECT_EQ(status.find("hunter2"), std::string::npos);
    for (const char* part : {"\"engine\":\"postgres\"", "\"reachable\":true", "\"pool\":2", "\"version\":\"15",
                             "\"round_trip_us\":", "\"history\":\""})
        EXPECT_NE(status.find(part), std::string::npos) << part << " in " << status;
    EXPECT_NE(status.find("127.0.0.1:" + std::to_string(shared_postgres().port()) + "/postgres"), std::string::npos);
}

TEST_F(PostgresEngineTest, beyond_its_limits_it_refuses_at_once) {
    EngineUser small(url, [](PostgresEngineOptions& options) {
        options.max_calls = 10;
        options.max_bytes = 100'000;
    });
    ASSERT_TRUE(small.until_reachable());
    int refused = 0, answered = 0;
    for (int i = 0; i < 15; ++i)
        small.engine().fetch(cas::Kind::record, "r", [&](Result<cas::Reading> reading) {
            ++answered;
            refused += reading ? 0 : 1;
        });
    EXPECT_EQ(answered, 0) << "not from within the call";
    ASSERT_TRUE(small.until([&] { return answered == 15; }));
    EXPECT_EQ(refused, 5);
    const auto large = small.swap(swap_of("r", 0, small.next_write(), std::string(200'000, 'x')));
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, Code::store_unavailable);
    EXPECT_TRUE(small.fetch("r"));
}

TEST_F(PostgresEngineTest, stop_answers_what_is_under_way_and_tells_nothing_more) {
    int refused = 0;
    for (int i = 0; i < 100; ++i)
        user.engine().fetch(cas::Kind::record, "r", [&](Result<cas::Reading> reading) { refused += reading ? 0 : 1; });
    user.engine().stop();
    EXPECT_EQ(refused, 100);
    EXPECT_FALSE(user.fetch("r"));
    EXPECT_TRUE(user.reachable);
}

}  // namespace
}  // namespace holdfast::store::postgres
