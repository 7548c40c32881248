#include <gtest/gtest.h>
#include <map>

#include "store/contract/marker_check.h"
#include "store/contract/position_check.h"
#include "store/redis/engine_rig.h"
#include "store/redis/plain_redis.h"
#include "support/redis_process.h"

namespace holdfast::store::redis {
namespace {

using cas::Reading;
using cas::Swapped;

class RedisEngineTest : public testing::Test {
 protected:
    void SetUp() override { ASSERT_TRUE(rig.up()) << rig.why.message; }

    RedisProcess redis;
    EngineRig rig{redis.url()};
};

TEST_F(RedisEngineTest, shows_what_was_written_and_when) {
    const auto nothing = rig.fetch("x");
    ASSERT_TRUE(nothing) << nothing.error().message;
    EXPECT_EQ(nothing->value.write, 0U);
    const EngineTime written{nothing->now + 123ns};
    const WriteId write = 0xfedcba9876543210;
    const std::string bytes("a\0b\r\n", 5);
    const auto swapped = rig.swap({.name = "x", .becomes = write, .bytes = bytes, .written_at = written});
    ASSERT_TRUE(swapped) << swapped.error().message;
    EXPECT_TRUE(swapped->done);
    EXPECT_GE(swapped->now, nothing->now);
    const auto reading = rig.fetch("x");
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_EQ(reading->value.write, write);
    EXPECT_EQ(reading->value.written_at, written) << "to the nanosecond";
    EXPECT_EQ(reading->value.bytes, bytes);
    EXPECT_EQ(rig.fetch("x", Kind::document)->value.write, 0U) << "records and documents are apart";
}

TEST_F(RedisEngineTest, says_redis_own_time) {
    const auto before = PlainRedis(redis.port())({"TIME"});
    const EngineTime now = rig.now();
    const EngineTime said{std::chrono::seconds(std::stol(before.items[0].text)) +
                          std::chrono::microseconds(std::stol(before.items[1].text))};
    EXPECT_GE(now, said);
    EXPECT_LT(now - said, 60s);
}

TEST_F(RedisEngineTest, swaps_only_what_is_expected_and_shows_what_is_there_instead) {
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .bytes = "one"})->done);
    auto refused = rig.swap({.name = "x", .becomes = 2, .bytes = "two"});
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.write, 1U);
    EXPECT_EQ(refused->found.bytes, "one");
    refused = rig.swap({.name = "x", .expected = 7, .becomes = 8, .bytes = "two"});
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.write, 1U);
    EXPECT_TRUE(rig.swap({.name = "x", .expected = 1, .becomes = 2, .bytes = "two"})->done);
    refused = rig.swap({.name = "y", .expected = 2, .becomes = 3});
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.write, 0U) << "nothing is there";
}

TEST_F(RedisEngineTest, swaps_only_where_the_marker_is_still_what_was_seen) {
    contract::check_that_swaps_ask_for_the_marker([&](const cas::Swap& swap) {
        return rig.wait<Swapped>([&](auto reply) { rig.engine().swap(swap, std::move(reply)); });
    });
}

TEST_F(RedisEngineTest, swaps_only_where_the_position_is_still_what_was_seen) {
    contract::check_that_swaps_ask_for_the_position(
        {.swap =
             [&](const cas::Swap& swap) {
                 return rig.wait<Swapped>([&](auto reply) { rig.engine().swap(swap, std::move(reply)); });
             },
         .fetch = [&](std::string_view name) { return rig.fetch(std::string(name)); }});
}

TEST_F(RedisEngineTest, tells_write_ids_apart_that_are_the_same_number_to_lua) {
    const std::uint64_t large = (std::uint64_t{1} << 53) + 2;
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = large})->done);
    EXPECT_FALSE(rig.swap({.name = "x", .expected = large + 1, .becomes = 5})->done);
    EXPECT_TRUE(rig.swap({.name = "x", .expected = large, .becomes = 5})->done);
}

TEST_F(RedisEngineTest, leaves_nothing_where_there_is_nothing_to_keep) {
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1})->done);
    ASSERT_TRUE(rig.swap({.name = "x", .expected = 1, .becomes = 2, .bytes = ""})->done);
    EXPECT_EQ(PlainRedis(redis.port())({"EXISTS", "holdfast:r:x"}).number, 0);
    EXPECT_EQ(rig.fetch("x")->value.write, 0U);
    EXPECT_TRUE(rig.swap({.name = "x", .becomes = 3})->done);
}

TEST_F(RedisEngineTest, swaps_only_in_its_window_of_time) {
    const EngineTime now = rig.now();
    auto swapped = rig.swap({.name = "x", .becomes = 1, .from = now + 1h});
    ASSERT_TRUE(swapped) << swapped.error().message;
    EXPECT_FALSE(swapped->done) << "too early";
    EXPECT_EQ(swapped->found.write, 0U);
    EXPECT_GE(swapped->now, now);
    EXPECT_FALSE(rig.swap({.name = "x", .becomes = 1, .until = now})->done) << "too late";
    EXPECT_FALSE(rig.swap({.name = "x", .becomes = 1, .until = now + 1ns})->done) << "rounded down";
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .from = now, .until = now + 1h})->done);
    swapped = rig.swap({.name = "x", .expected = 1, .becomes = 2, .until = now});
    EXPECT_FALSE(swapped->done);
    EXPECT_EQ(swapped->found.write, 1U) << "as expected";
    EXPECT_EQ(swapped->found.bytes, "");
}

TEST_F(RedisEngineTest, forgets_a_record_from_its_end_on_and_not_before) {
    const EngineTime end = rig.now() + 1500ms + 1ns;
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .keep_until = end})->done);
    ASSERT_TRUE(rig.swap({.name = "d", .becomes = 2, .keep_until = end, .kind = Kind::document})->done);
    bool was_there = true;
    while (was_there) {
        ASSERT_TRUE(rig.overdue());
        const auto reading = rig.fetch("x");
        ASSERT_TRUE(reading) << reading.error().message;
        was_there = reading->value.write == 1;
        if (!was_there) {
            EXPECT_GE(reading->now, end);
        }
        ASSERT_LT(reading->now, end + 60s);
    }
    EXPECT_EQ(rig.fetch("d", Kind::document)->value.write, 2U) << "a document has no end";
}

TEST_F(RedisEngineTest, lets_one_of_two_win_who_write_at_once) {
    EngineRig other{redis.url(), {}, rig.loop()};
    ASSERT_TRUE(other.up());
    WriteId expected = 0;
    for (std::uint64_t round = 1; round <= 200; ++round) {
        std::vector<std::pair<WriteId, bool>> outcomes;
        EngineRig* const both[] = {&rig, &other};
        for (std::uint64_t who = 0; who < 2; ++who)
            both[(who + round) % 2]->start_swap(
                {.name = "x", .expected = expected, .becomes = 2 * round + who, .holders = {"h"}},
                [&outcomes, write = 2 * round + who](const Result<Swapped>& swapped) {
                    ASSERT_TRUE(swapped) << swapped.error().message;
                    outcomes.emplace_back(write, swapped->done);
                });
        ASSERT_TRUE(rig.until([&] { return outcomes.size() == 2; }));
        ASSERT_NE(outcomes[0].second, outcomes[1].second);
        expected = outcomes[0].second ? outcomes[0].first : outcomes[1].first;
    }
    EXPECT_EQ(rig.fetch("x")->value.write, expected);
}

TEST_F(RedisEngineTest, tells_everyone_what_took_effect_and_nothing_else) {
    EngineRig other{redis.url(), {}, rig.loop()};
    EngineRig stranger{redis.url() + "?prefix=else", {}, rig.loop()};
    EngineRig elsewhere{redis.url() + "/1", {}, rig.loop()};
    ASSERT_TRUE(other.up() && stranger.up() && elsewhere.up());
    const std::string notice("\0 first", 7);
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .notice = notice})->done);
    ASSERT_FALSE(rig.swap({.name = "x", .becomes = 2, .notice = "not done"})->done);
    ASSERT_TRUE(rig.swap({.name = "x", .expected = 1, .becomes = 3})->done);
    ASSERT_TRUE(other.swap({.name = "x", .expected = 3, .becomes = 4, .bytes = "", .notice = "last"})->done);
    ASSERT_TRUE(stranger.swap({.name = "x", .becomes = 5, .notice = "other prefix"})->done);
    ASSERT_TRUE(elsewhere.swap({.name = "x", .becomes = 5, .notice = "other database"})->done);
    const std::vector<std::string> expected{notice, "last"};
    EXPECT_TRUE(rig.until([&] { return rig.notices.size() >= 2 && other.notices.size() >= 2; }));
    EXPECT_EQ(rig.notices, expected) << "also those of its own";
    EXPECT_EQ(other.notices, expected);
    EXPECT_TRUE(rig.until([&] { return elsewhere.notices.size() == 1; }));
    EXPECT_EQ(elsewhere.notices[0], "other database");
}

TEST_F(RedisEngineTest, sends_a_thousand_calls_of_one_turn_in_one_round) {
    PlainRedis plain{redis.port()};
    std::size_t done = 0;
    rig.now();
    const long before = plain.info("total_reads_processed");
    for (std::uint64_t write = 1; write <= 1000; ++write)
        rig.start_swap({.name = "x" + std::to_string(write), .becomes = write, .holders = {"h"}, .due = EngineTime{1h}},
                       [&](const Result<Swapped>& swapped) { done += swapped && swapped->done; });
    ASSERT_TRUE(rig.until([&] { return done == 1000; }));
    // Each read of Redis takes 16 KiB at most, and ticks and this question are read as well; a round trip per call
    // would be a thousand.
    EXPECT_LT(plain.info("total_reads_processed") - before, 200);
    const std::string stats = plain({"INFO", "commandstats"}).text;
    const auto scripts = stats.find("cmdstat_evalsha:calls=");
    ASSERT_NE(scripts, std::string::npos);
    EXPECT_LT(std::stol(stats.substr(scripts + 22)), 50) << "many swaps in one script";
    EXPECT_EQ(EngineRig::names(rig.of_holder("h", 2000)).size(), 1000U);
}

TEST_F(RedisEngineTest, decides_on_each_swap_of_one_call_by_itself) {
    PlainRedis plain{redis.port()};
    plain({"LPUSH", "holdfast:r:list", "mine"});
    plain({"SET", "holdfast:r:foreign", "mine"});
    ASSERT_TRUE(rig.swap({.name = "there", .becomes = 1, .bytes = "one"})->done);
    ASSERT_TRUE(rig.swap({.name = "kept", .becomes = 2, .bytes = "two"})->done);
    const EngineTime now = rig.now();
    const long before = plain.info("total_reads_processed");
    std::map<std::string, Result<Swapped>> outcomes;
    const auto start = [&](const std::string& what, const Write& write) {
        rig.start_swap(write, [&, what](Result<Swapped> swapped) { outcomes.emplace(what, std::move(swapped)); });
    };
    start("fresh", {.name = "fresh", .becomes = 10, .notice = "told"});
    start("again", {.name = "fresh", .expected = 10, .becomes = 11});
    start("list", {.name = "list", .becomes = 12});
    start("foreign", {.name = "foreign", .expected = 5, .becomes = 13});
    start("other", {.name = "there", .becomes = 14, .notice = "not done"});
    start("early", {.name = "early", .becomes = 15, .from = now + 1h});
    start("late", {.name = "kept", .expected = 2, .becomes = 16, .until = now});
    start("late and other", {.name = "there", .expected = 9, .becomes = 17, .until = now});
    start("in time", {.name = "in time", .becomes = 18, .from = now, .until = now + 1h});
    start("gone", {.name = "gone", .expected = 7, .becomes = 19});
    start("removed", {.name = "there", .expected = 1, .becomes = 20, .bytes = ""});
    start("nothing", {.name = "nothing", .becomes = 21, .bytes = ""});
    ASSERT_TRUE(rig.until([&] { return outcomes.size() == 12; }));
    for (const char* what : {"fresh", "again", "in time", "removed", "nothing"})
        EXPECT_TRUE(outcomes.at(what) && outcomes.at(what)->done) << what;
    for (const char* what : {"other", "early", "late", "late and other", "gone"})
        EXPECT_TRUE(outcomes.at(what) && !outcomes.at(what)->done) << what;
    for (const char* what : {"list", "foreign"}) {
        ASSERT_FALSE(outcomes.at(what)) << what;
        EXPECT_NE(outcomes.at(what).error().message.find(std::string("holdfast:r:") + what), std::string::npos)
            << outcomes.at(what).error().message;
    }
    EXPECT_EQ(outcomes.at("other")->found.bytes, "one");
    EXPECT_EQ(outcomes.at("late and other")->found.write, 1U);
    EXPECT_EQ(outcomes.at("late")->found.write, 2U);
    EXPECT_EQ(outcomes.at("gone")->found.write, 0U);
    EXPECT_EQ(outcomes.at("early")->found.write, 0U);
    EXPECT_LT(plain.info("total_reads_processed") - before, 10);
    EXPECT_EQ(rig.fetch("fresh")->value.write, 11U);
    EXPECT_EQ(rig.notices, std::vector<std::string>{"told"});
}

TEST_F(RedisEngineTest, is_not_confused_by_scripts_that_were_flushed) {
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1})->done);
    PlainRedis(redis.port())({"SCRIPT", "FLUSH"});
    const auto swapped = rig.swap({.name = "x", .expected = 1, .becomes = 2, .holders = {"h"}});
    ASSERT_TRUE(swapped) << swapped.error().message;
    EXPECT_TRUE(swapped->done);
    EXPECT_EQ(rig.fetch("x")->value.write, 2U);
    EXPECT_EQ(EngineRig::names(rig.of_holder("h")), std::vector<std::string>{"x"});
    EXPECT_EQ(rig.told, 1) << "it was reachable throughout";
}

TEST_F(RedisEngineTest, says_which_key_somebody_else_has_written) {
    PlainRedis plain{redis.port()};
    plain({"SET", "holdfast:r:foreign", "mine"});
    plain({"SET", "holdfast:r:empty", ""});
    plain({"LPUSH", "holdfast:r:list", "mine"});
    plain({"SET", "holdfast:h:taken", "mine"});
    for (const std::string name : {"foreign", "empty", "list"}) {
        const auto reading = rig.fetch(name);
        ASSERT_FALSE(reading) << name;
        EXPECT_EQ(reading.error().code, Code::store_unavailable);
        EXPECT_NE(reading.error().message.find("holdfast:r:" + name), std::string::npos) << reading.error().message;
        const auto swapped = rig.swap({.name = name, .becomes = 1});
        ASSERT_FALSE(swapped) << name;
        EXPECT_NE(swapped.error().message.find("holdfast:r:" + name), std::string::npos) << swapped.error().message;
    }
    const auto swapped = rig.swap({.name = "x", .becomes = 1, .holders = {"a", "taken", "z"}});
    ASSERT_FALSE(swapped) << "it could not be found by its holder";
    EXPECT_NE(swapped.error().message.find("holdfast:h:taken"), std::string::npos) << swapped.error().message;
    for (const char* key : {"holdfast:r:x", "holdfast:h:a", "holdfast:h:z", "holdfast:due"})
        EXPECT_EQ(plain({"EXISTS", key}).number, 0) << key;
    EXPECT_FALSE(rig.scan(Kind::record, "", "", 100));
    EXPECT_TRUE(rig.reachable);
}

TEST_F(RedisEngineTest, refuses_at_once_what_is_more_than_may_be_under_way) {
    EngineRig small{redis.url(), [](RedisEngineOptions& options) { options.max_calls = 10; }};
    ASSERT_TRUE(small.up());
    std::size_t good = 0, bad = 0;
    for (int i = 0; i < 100; ++i)
        small.engine().fetch(Kind::record, "x", [&](const Result<Reading>& reading) {
            ++(reading ? good : bad);
            if (!reading) {
                EXPECT_EQ(reading.error().code, Code::store_unavailable);
            }
        });
    ASSERT_TRUE(small.until([&] { return good + bad == 100; }));
    EXPECT_GT(bad, 80U);
    EXPECT_GT(good, 0U);
    EngineRig narrow{redis.url(), [](RedisEngineOptions& options) { options.max_unsent_bytes = 4096; }};
    ASSERT_TRUE(narrow.up());
    EXPECT_FALSE(narrow.swap({.name = "x", .becomes = 1, .bytes = std::string(5000, 'x')}));
    EXPECT_TRUE(narrow.swap({.name = "x", .becomes = 1})->done);
}

TEST_F(RedisEngineTest, answers_everything_when_it_is_stopped_and_nothing_after) {
    std::size_t failed = 0;
    const auto reply = [&](const auto& result) { failed += !result; };
    rig.engine().fetch(Kind::record, "x", reply);
    rig.start_swap({.name = "x", .becomes = 1, .holders = {"h"}}, reply);
    rig.engine().of_holder("h", 10, reply);
    rig.engine().overdue(10, reply);
    rig.engine().stop();
    EXPECT_EQ(failed, 4U);
    rig.engine().fetch(Kind::record, "x", reply);
    EXPECT_EQ(failed, 4U) << "not from within the call";
    EXPECT_TRUE(rig.until([&] { return failed == 5; }));
    EXPECT_EQ(rig.told, 1);
}

TEST_F(RedisEngineTest, shows_its_state_without_the_password) {
    RedisProcess locked{{"--requirepass", "sesame"}};
    EngineRig keyed{"redis://:sesame@127.0.0.1:" + std::to_string(locked.port())};
    ASSERT_TRUE(keyed.up()) << keyed.why.message;
    EXPECT_TRUE(keyed.swap({.name = "x", .becomes = 1})->done);
    const std::string status = keyed.engine().status();
    EXPECT_NE(status.find(R"("engine":"redis")"), std::string::npos) << status;
    EXPECT_NE(status.find(R"("reachable":true)"), std::string::npos) << status;
    EXPECT_NE(status.find(R"("version":"7.)"), std::string::npos) << status;
    EXPECT_EQ(status.find("sesame"), std::string::npos);
    EngineRig wrong{"redis://:open@127.0.0.1:" + std::to_string(locked.port())};
    ASSERT_TRUE(wrong.down());
    EXPECT_EQ(wrong.why.message.find("open"), std::string::npos) << wrong.why.message;
    EXPECT_NE(wrong.why.message.find("WRONGPASS"), std::string::npos) << wrong.why.message;
}

TEST_F(RedisEngineTest, refuses_a_redis_that_could_lose_leases_or_is_a_replica) {
    RedisProcess evicting{{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}};
    EngineRig first{evicting.url()};
    ASSERT_TRUE(first.down());
    EXPECT_NE(first.why.message.find("noeviction"), std::string::npos) << first.why.message;
    RedisProcess replica{{"--replicaof", "127.0.0.1 " + std::to_string(redis.port())}};
    EngineRig second{replica.url()};
    ASSERT_TRUE(second.down());
    EXPECT_NE(second.why.message.find("replica"), std::string::npos) << second.why.message;
    const auto reading = second.fetch("x");
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, Code::store_unavailable);
    EngineRig third{redis.url() + "?cluster=1"};
    ASSERT_TRUE(third.down());
    EXPECT_NE(third.why.message.find("not in a cluster"), std::string::npos) << third.why.message;
}

}  // namespace
}  // namespace holdfast::store::redis
