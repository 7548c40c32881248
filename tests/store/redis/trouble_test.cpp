#include <filesystem>
#include <gtest/gtest.h>
#include <map>

#include "store/redis/clock_file.h"
#include "store/redis/engine_rig.h"
#include "store/redis/plain_redis.h"
#include "support/redis_impostor.h"
#include "support/redis_process.h"
#include "support/tcp_proxy.h"

namespace holdfast::store::redis {
namespace {

using cas::Reading;
using cas::Swapped;

std::string url_of(std::uint16_t port) {
    return "redis://127.0.0.1:" + std::to_string(port);
}

void quick(RedisEngineOptions& options) {
    options.answer_within = 500ms;
}

/// A greeting like Redis's; `other` may answer anything else.
RedisImpostor::Script impostor(RedisImpostor::Script other) {
    return [other = std::move(other)](const RedisImpostor::Words& words) -> std::string {
        const auto bulk = [](const std::string& text) {
            return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
        };
        if (words[0] == "INFO")
            return bulk(
                "redis_version:7.0.15\r\nrun_id:abc\r\nmaster_replid:def\r\nrole:master\r\nmaxmemory:0\r\nloading:"
                "0\r\n");
        if (words[0] == "CLIENT") return ":1\r\n";
        if (words[0] == "CLUSTER") return "-ERR This instance has cluster support disabled\r\n";
        if (words[0] == "TIME") return "*2\r\n" + bulk("1700000000") + bulk("5");
        if (words[0] == "SCRIPT") return bulk(std::string(40, 'a'));
        if (words[0] == "SUBSCRIBE") return "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n";
        if (words[0] == "PING") return "+PONG\r\n";
        return other(words);
    };
}

TEST(RedisTrouble, is_found_when_it_comes_and_each_time_that_it_comes_back) {
    RedisProcess redis;
    redis.kill();
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.down());
    EXPECT_EQ(rig.why.code, Code::store_unavailable);
    auto reading = rig.fetch("x");
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, Code::store_unavailable);
    EXPECT_NE(rig.engine().status().find(R"("reachable":false)"), std::string::npos);
    std::string history;
    for (int round = 0; round < 3; ++round) {
        redis.start();
        ASSERT_TRUE(rig.up()) << rig.why.message;
        EXPECT_NE(rig.hello.history, history) << "it is another process";
        history = rig.hello.history;
        EXPECT_EQ(rig.told, 2 + 2 * round) << "once each";
        reading = rig.fetch("x");
        ASSERT_TRUE(reading) << reading.error().message;
        EXPECT_EQ(reading->value.write, 0U) << "it kept nothing";
        ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .holders = {"h"}})->done);
        redis.kill();
        ASSERT_TRUE(rig.down());
    }
    rig.engine().stop();
}

TEST(RedisTrouble, answers_what_was_under_way_when_it_went) {
    RedisProcess redis;
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.up());
    redis.freeze();
    std::size_t failed = 0;
    for (std::uint64_t write = 1; write <= 100; ++write)
        rig.start_swap({.name = "x", .becomes = write, .holders = {"h"}}, [&](const auto& swapped) {
            ASSERT_FALSE(swapped);
            EXPECT_EQ(swapped.error().code, Code::store_unavailable);
            ++failed;
        });
    rig.loop()->restart();
    rig.loop()->poll();
    redis.kill();
    ASSERT_TRUE(rig.until([&] { return failed == 100; }));
    EXPECT_FALSE(rig.reachable);
}

TEST(RedisTrouble, fails_in_time_while_it_sleeps_and_heals_when_it_wakes) {
    RedisProcess redis;
    EngineRig rig{redis.url(), quick};
    ASSERT_TRUE(rig.up());
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1})->done);
    const std::string history = rig.hello.history;
    redis.freeze();
    const auto reading = rig.fetch("x");
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, Code::store_unavailable);
    EXPECT_FALSE(rig.reachable);
    ASSERT_FALSE(rig.fetch("x")) << "at once";
    redis.thaw();
    ASSERT_TRUE(rig.up());
    EXPECT_EQ(rig.hello.history, history);
    EXPECT_EQ(rig.fetch("x")->value.write, 1U);
}

TEST(RedisTrouble, is_noticed_also_when_nobody_asks) {
    RedisProcess redis;
    EngineRig rig{redis.url(), quick};
    ASSERT_TRUE(rig.up());
    redis.freeze();
    EXPECT_TRUE(rig.down());
    redis.thaw();
    EXPECT_TRUE(rig.up());
}

TEST(RedisTrouble, does_no_swap_that_it_slept_on_once_it_is_reached_again) {
    for (int round = 0; round < 2; ++round) {
        RedisProcess redis;
        EngineRig rig{redis.url(), quick};
        ASSERT_TRUE(rig.up());
        redis.freeze();
        const auto lost = rig.swap({.name = "x", .becomes = 1});
        ASSERT_FALSE(lost);
        redis.thaw();
        ASSERT_TRUE(rig.up());
        const auto at_first = rig.fetch("x");
        ASSERT_TRUE(at_first);
        const auto until = std::chrono::steady_clock::now() + rig.engine().swap_lingers();
        rig.until([&] { return std::chrono::steady_clock::now() > until; });
        EXPECT_EQ(rig.fetch("x")->value.write, at_first->value.write) << "it was done before or never";
    }
}

TEST(RedisTrouble, does_no_swap_long_after_it_was_called) {
    RedisProcess redis;
    EngineRig rig{redis.url(), quick};
    ASSERT_TRUE(rig.up());
    redis.freeze();
    ASSERT_FALSE(rig.swap({.name = "x", .becomes = 1}));
    rig.engine().stop();  // nobody comes back to tell Redis that it is too late
    const auto until = std::chrono::steady_clock::now() + rig.engine().swap_lingers();
    rig.until([&] { return std::chrono::steady_clock::now() > until; });
    redis.thaw();
    PlainRedis plain{redis.port()};
    plain({"PING"});
    EXPECT_EQ(plain({"EXISTS", "holdfast:r:x"}).number, 0);
}

TEST(RedisTrouble, shows_whether_a_swap_took_effect_whose_answer_was_lost) {
    RedisProcess redis;
    TcpProxy proxy{redis.port()};
    EngineRig rig{url_of(proxy.port()), quick};
    ASSERT_TRUE(rig.up());
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1})->done);
    proxy.lose_answers();
    ASSERT_FALSE(rig.swap({.name = "x", .expected = 1, .becomes = 2}));
    ASSERT_TRUE(rig.up());
    const auto again = rig.swap({.name = "x", .expected = 1, .becomes = 3});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->done);
    EXPECT_EQ(again->found.write, 2U) << "this very write";
}

TEST(RedisTrouble, bears_a_slow_way_and_one_that_is_cut) {
    RedisProcess redis;
    TcpProxy proxy{redis.port()};
    EngineRig rig{url_of(proxy.port())};
    ASSERT_TRUE(rig.up());
    proxy.delay_answers(100ms);
    std::size_t done = 0;
    for (std::uint64_t write = 1; write <= 1000; ++write)
        rig.start_swap({.name = std::to_string(write), .becomes = write, .holders = {"h"}},
                       [&](const auto& swapped) { done += swapped && swapped->done; });
    ASSERT_TRUE(rig.until([&] { return done == 1000; }));
    EXPECT_NE(rig.engine().status().find("round_trip_us"), std::string::npos);
    proxy.cut();
    ASSERT_TRUE(rig.down());
    proxy.allow();
    ASSERT_TRUE(rig.up());
    EXPECT_EQ(EngineRig::names(rig.of_holder("h", 2000)).size(), 1000U);
}

TEST(RedisTrouble, has_kept_what_was_written_to_its_disk_after_a_restart) {
    RedisProcess redis{{"--appendonly", "yes", "--appendfsync", "always"}};
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.up());
    const std::string history = rig.hello.history;
    const auto written = rig.swap({.name = "x", .becomes = 1, .holders = {"h"}, .keep_until = rig.now() + 1h});
    ASSERT_TRUE(written && written->done);
    redis.kill();
    ASSERT_TRUE(rig.down());
    redis.start();
    ASSERT_TRUE(rig.up());
    EXPECT_NE(rig.hello.history, history);
    const auto reading = rig.fetch("x");
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_EQ(reading->value.write, 1U);
    EXPECT_EQ(reading->position, written->position);
    EXPECT_EQ(EngineRig::names(rig.of_holder("h")), std::vector<std::string>{"x"});
}

TEST(RedisTrouble, leaves_a_master_that_became_a_replica) {
    RedisProcess redis, master;
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.up());
    PlainRedis plain{redis.port()};
    plain({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
    const auto swapped = rig.swap({.name = "x", .becomes = 1});
    ASSERT_FALSE(swapped);
    EXPECT_EQ(swapped.error().code, Code::store_unavailable);
    EXPECT_NE(swapped.error().message.find("READONLY"), std::string::npos) << swapped.error().message;
    ASSERT_TRUE(rig.down());
    plain({"REPLICAOF", "NO", "ONE"});
    EXPECT_TRUE(rig.up());
}

/// It is not done, the error has Redis's own words, and the engine stays where it is.
void expect_refused(EngineRig& rig, const Write& write, const std::string& words) {
    const auto swapped = rig.swap(write);
    ASSERT_FALSE(swapped) << words;
    EXPECT_EQ(swapped.error().code, Code::store_unavailable);
    EXPECT_NE(swapped.error().message.find(words), std::string::npos) << swapped.error().message;
}

TEST(RedisTrouble, says_that_memory_is_full_and_still_lets_go_of_what_is_there) {
    RedisProcess redis;
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.up());
    ASSERT_TRUE(rig.swap({.name = "held", .becomes = 1})->done);
    ASSERT_TRUE(rig.swap({.name = "renewed", .becomes = 2})->done);
    const cas::Position before = rig.fetch("held")->position;
    PlainRedis plain{redis.port()};
    ASSERT_EQ(plain({"CONFIG", "SET", "maxmemory", "1"}).text, "OK");
    expect_refused(rig, {.name = "fresh", .becomes = 3}, "OOM command not allowed");
    expect_refused(rig, {.name = "fresh", .becomes = 4, .holders = {"h"}}, "OOM command not allowed");
    expect_refused(rig, {.name = "renewed", .expected = 2, .becomes = 5}, "OOM command not allowed");
    EXPECT_EQ(rig.fetch("fresh")->value.write, 0U);
    EXPECT_EQ(rig.fetch("renewed")->value.write, 2U);
    EXPECT_EQ(rig.fetch("held")->position, before);
    std::map<std::string, Result<Swapped>> outcomes;
    const auto start = [&](const Write& write) {
        rig.start_swap(write, [&, name = write.name](Result<Swapped> swapped) { outcomes.emplace(name, swapped); });
    };
    start({.name = "busy", .expected = 77, .becomes = 6});
    start({.name = "fresh", .becomes = 7});
    start({.name = "held", .expected = 1, .becomes = 8, .bytes = ""});
    ASSERT_TRUE(rig.until([&] { return outcomes.size() == 3; }));
    EXPECT_TRUE(outcomes.at("busy") && !outcomes.at("busy")->done);
    EXPECT_FALSE(outcomes.at("fresh"));
    ASSERT_TRUE(outcomes.at("held")) << outcomes.at("held").error().message;
    EXPECT_TRUE(outcomes.at("held")->done);
    EXPECT_EQ(outcomes.at("held")->position, before + 1);
    EXPECT_EQ(rig.fetch("held")->value.write, 0U);
    EXPECT_EQ(rig.fetch("fresh")->value.write, 0U);
    ASSERT_EQ(plain({"CONFIG", "SET", "maxmemory", "0"}).text, "OK");
    EXPECT_TRUE(rig.swap({.name = "fresh", .becomes = 9, .holders = {"h"}})->done);
    EXPECT_EQ(rig.told, 1) << "reachable throughout";
}

TEST(RedisTrouble, is_left_when_it_may_evict_keys_and_says_later_that_some_were_lost) {
    RedisProcess redis;
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.up());
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1})->done);
    PlainRedis plain{redis.port()};
    ASSERT_EQ(plain({"CONFIG", "SET", "maxmemory-policy", "allkeys-random"}).text, "OK");
    ASSERT_EQ(plain({"CONFIG", "SET", "maxmemory", "1gb"}).text, "OK");
    ASSERT_TRUE(rig.down()) << "before there is a need to evict any";
    EXPECT_NE(rig.why.message.find("allkeys-random"), std::string::npos) << rig.why.message;
    ASSERT_EQ(plain({"CONFIG", "SET", "maxmemory", "0"}).text, "OK");
    ASSERT_TRUE(rig.up());
    EXPECT_FALSE(rig.hello.lost) << "it has evicted none";
    // All of them at once, and by the time that anybody looks it evicts no more.
    ASSERT_EQ(plain({"CONFIG", "SET", "maxmemory", "1"}).text, "OK");
    ASSERT_EQ(plain({"CONFIG", "SET", "maxmemory", "0"}).text, "OK");
    ASSERT_TRUE(rig.until([&] { return rig.hello.lost; })) << rig.why.message;
    ASSERT_TRUE(rig.up());
    EXPECT_EQ(rig.fetch("x")->value.write, 0U);
}

TEST(RedisTrouble, says_what_it_is_no_longer_permitted) {
    RedisProcess redis;
    PlainRedis plain{redis.port()};
    ASSERT_EQ(plain({"ACL", "SETUSER", "front", "on", ">sesame", "~*", "&*", "+@all"}).text, "OK");
    EngineRig rig{"redis://front:sesame@127.0.0.1:" + std::to_string(redis.port())};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1})->done);
    struct Change {
        const char* taken;
        const char* given_back;
        std::string words;
    };
    for (const auto& [taken, given_back, words] : {Change{"-evalsha", "+evalsha", "NOPERM"},
                                                   Change{"%R~*", "~*", "NOPERM"}, Change{"-set", "+set", "command"}}) {
        if (std::string_view(taken).starts_with('%')) plain({"ACL", "SETUSER", "front", "resetkeys"});
        ASSERT_EQ(plain({"ACL", "SETUSER", "front", taken}).text, "OK");
        expect_refused(rig, {.name = "x", .expected = 1, .becomes = 2}, words);
        expect_refused(rig, {.name = "fresh", .becomes = 3}, words);
        ASSERT_EQ(plain({"ACL", "SETUSER", "front", given_back}).text, "OK");
        EXPECT_EQ(rig.fetch("x")->value.write, 1U) << taken;
        EXPECT_EQ(rig.fetch("fresh")->value.write, 0U) << taken;
    }
    EXPECT_EQ(rig.told, 1) << "reachable throughout";
    ASSERT_EQ(plain({"ACL", "SETUSER", "front", "resetchannels"}).text, "OK");
    ASSERT_TRUE(rig.down()) << "it hears no notices";
    ASSERT_TRUE(rig.until([&] { return rig.why.message.find("NOPERM") != std::string::npos; })) << rig.why.message;
    EXPECT_NE(rig.engine().status().find("NOPERM"), std::string::npos);
    ASSERT_EQ(plain({"ACL", "SETUSER", "front", "&*"}).text, "OK");
    ASSERT_TRUE(rig.up());
    EXPECT_TRUE(rig.swap({.name = "x", .expected = 1, .becomes = 4})->done);
}

TEST(RedisTrouble, says_that_its_disk_fails) {
    RedisProcess redis{{"--save", "3600 1000000"}};
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.up());
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1})->done);
    std::filesystem::remove_all(redis.folder());
    PlainRedis plain{redis.port()};
    plain({"BGSAVE"});
    ASSERT_TRUE(rig.until([&] {
        return plain({"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") != std::string::npos;
    }));
    expect_refused(rig, {.name = "x", .expected = 1, .becomes = 2}, "MISCONF");
    expect_refused(rig, {.name = "x", .expected = 1, .becomes = 2, .bytes = ""}, "MISCONF");
    expect_refused(rig, {.name = "y", .becomes = 3, .holders = {"h"}}, "MISCONF");
    EXPECT_EQ(rig.fetch("x")->value.write, 1U);
    ASSERT_EQ(plain({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"}).text, "OK");
    EXPECT_TRUE(rig.swap({.name = "x", .expected = 1, .becomes = 4})->done);
    EXPECT_EQ(rig.told, 1) << "reachable throughout";
}

TEST(RedisTrouble, does_not_connect_over_and_over_at_once_to_one_that_refuses_everything) {
    for (const std::string words : {"-CLUSTERDOWN The cluster is down", "-LOADING Redis is loading"}) {
        RedisImpostor redis{impostor([&](const RedisImpostor::Words&) { return words + "\r\n"; })};
        EngineRig rig{redis.url()};
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
        while (std::chrono::steady_clock::now() < end)
            if (const auto reading = rig.fetch("x"); !reading && rig.told > 1) {
                EXPECT_NE(reading.error().message.find(words.substr(1)), std::string::npos) << reading.error().message;
            }
        EXPECT_GE(rig.told, 3);
        EXPECT_LT(rig.told, 30) << "there are pauses, which grow";
    }
}

TEST(RedisTrouble, waits_for_replicas_if_told_to) {
    RedisProcess redis;
    RedisProcess replica{{"--replicaof", "127.0.0.1 " + std::to_string(redis.port())}};
    PlainRedis there{replica.port()};
    while (there({"INFO", "replication"}).text.find("master_link_status:up") == std::string::npos)
        ::poll(nullptr, 0, 20);
    PlainRedis here{redis.port()};
    here({"SET", "first", "x"});
    ASSERT_EQ(here({"WAIT", "1", "60000"}).number, 1) << "the master does not count it yet";
    EngineRig rig{redis.url() + "?wait=1&wait_ms=2000"};
    ASSERT_TRUE(rig.up());
    for (std::uint64_t write = 1; write <= 20; ++write) {
        const auto swapped = rig.swap({.name = "x", .expected = write - 1, .becomes = write});
        ASSERT_TRUE(swapped) << swapped.error().message;
        ASSERT_TRUE(swapped->done);
        ASSERT_EQ(std::stoul(there({"GETRANGE", "holdfast:r:x", "20", "35"}).text, nullptr, 16), write);
    }
    replica.freeze();
    const auto alone = rig.swap({.name = "x", .expected = 20, .becomes = 21});
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().code, Code::store_unavailable);
    EXPECT_NE(alone.error().message.find("replicas"), std::string::npos) << alone.error().message;
    EXPECT_TRUE(rig.reachable);
    EXPECT_EQ(rig.fetch("x")->value.write, 21U) << "it did take effect";
    replica.thaw();
    EXPECT_TRUE(rig.until([&] {
        const auto now = rig.fetch("x");
        const auto again = rig.swap({.name = "x", .expected = now->value.write, .becomes = now->value.write.count + 1});
        return again && again->done;
    }));
}

TEST(RedisTrouble, goes_by_redis_clock_wherever_that_goes) {
    ClockFile clock;
    RedisProcess redis{{}, clock.environment()};
    EngineRig rig{redis.url()};
    ASSERT_TRUE(rig.up());
    const EngineTime before = rig.now();
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .holders = {"h"}, .keep_until = before + 24h})->done);
    clock.set(3600);
    const EngineTime ahead = rig.now();
    EXPECT_GT(ahead - before, 59min);
    EXPECT_LT(ahead - before, 61min);
    EXPECT_FALSE(rig.swap({.name = "x", .expected = 1, .becomes = 2, .until = before + 30min})->done);
    auto swapped = rig.swap({.name = "x",
                             .expected = 1,
                             .becomes = 2,
                             .holders = {"h"},
                             .from = before + 30min,
                             .keep_until = before + 24h});
    ASSERT_TRUE(swapped && swapped->done);
    EXPECT_EQ(EngineRig::names(rig.of_holder("h")), std::vector<std::string>{"x"});
    clock.set(-3600);
    // The first answer after a step may be a refusal: the swap was for a time that is no more.
    EXPECT_LT(rig.now(), before);
    EXPECT_FALSE(rig.swap({.name = "x", .expected = 2, .becomes = 3, .from = before})->done);
    swapped = rig.swap({.name = "x", .expected = 2, .becomes = 3, .holders = {"h"}, .until = before});
    ASSERT_TRUE(swapped && swapped->done);
    EXPECT_EQ(EngineRig::names(rig.of_holder("h")), std::vector<std::string>{"x"});
    EXPECT_EQ(rig.told, 1) << "reachable throughout";
}

TEST(RedisTrouble, takes_no_nonsense_for_an_answer) {
    const std::string time = "$10\r\n1700000000\r\n$1\r\n5\r\n";
    const std::string counted = time + ":7\r\n";
    for (const std::string& nonsense : std::vector<std::string>{"+OK\r\n",
                                                                ":1\r\n",
                                                                "$-1\r\n",
                                                                "*0\r\n",
                                                                "*1\r\n$1\r\nx\r\n",
                                                                "*2\r\n$1\r\nx\r\n$1\r\ny\r\n",
                                                                "*3\r\n" + time + "$1\r\nd\r\n",
                                                                "*4\r\n" + time + "$1\r\n7\r\n$1\r\nd\r\n",
                                                                "*4\r\n" + time + ":-7\r\n$1\r\nd\r\n",
                                                                "*4\r\n" + counted + "$4\r\nwhat\r\n",
                                                                "*4\r\n" + counted + ":7\r\n",
                                                                "*4\r\n" + counted + "$2\r\ndd\r\n",
                                                                "*4\r\n" + counted + "$1\r\nx\r\n",
                                                                "*4\r\n" + counted + "$1\r\no\r\n",
                                                                "*5\r\n" + counted + "$1\r\no\r\n$3\r\nabc\r\n",
                                                                "*5\r\n" + counted + "$1\r\no\r\n*0\r\n",
                                                                "*5\r\n" + counted + "$1\r\ne\r\n$3\r\nabc\r\n",
                                                                "-ERR what\r\n",
                                                                "-OOM command not allowed\r\n",
                                                                "-NOSCRIPT\r\n",
                                                                "-MOVED 1 127.0.0.1:1\r\n",
                                                                "-BUSY Redis is busy\r\n"}) {
        RedisImpostor redis{impostor([&](const RedisImpostor::Words&) { return nonsense; })};
        EngineRig rig{redis.url(), quick};
        ASSERT_TRUE(rig.up()) << rig.why.message;
        const auto fails = [&](const auto& result, const char* what) {
            ASSERT_FALSE(result) << what << ": " << nonsense;
            EXPECT_EQ(result.error().code, Code::store_unavailable) << nonsense;
            EXPECT_FALSE(result.error().message.empty());
        };
        fails(rig.swap({.name = "x", .becomes = 1}), "swap");
        fails(rig.swap({.name = "x", .becomes = 1, .holders = {"h"}}), "swap");
        if (nonsense.find("+OK") == 0 || nonsense.find("*0") == 0 || nonsense[0] == ':' || nonsense[0] == '-') {
            fails(rig.fetch("x"), "fetch");
            fails(rig.overdue(), "overdue");
            if (nonsense[0] != '*') fails(rig.of_holder("h"), "of_holder");
            fails(rig.scan(Kind::record, "", "", 10), "scan");
        }
        EXPECT_TRUE(rig.reachable);
    }
}

TEST(RedisTrouble, gives_a_connection_up_that_makes_no_sense) {
    for (const std::string& nonsense : std::vector<std::string>{
             "?what\r\n", "$99999999999\r\n", "+OK\r\n+OK\r\n+OK\r\n", "-LOADING Redis is loading\r\n",
             "-READONLY You can't\r\n", "-CLUSTERDOWN\r\n", "-MASTERDOWN\r\n"}) {
        RedisImpostor redis{impostor([&](const RedisImpostor::Words&) { return nonsense; })};
        EngineRig rig{redis.url(), quick};
        ASSERT_TRUE(rig.up()) << rig.why.message;
        const auto reading = rig.fetch("x");
        ASSERT_FALSE(reading) << nonsense;
        if (nonsense[0] == '-') {
            EXPECT_NE(reading.error().message.find(nonsense.substr(1, nonsense.size() - 3)), std::string::npos)
                << reading.error().message;
        }
        EXPECT_TRUE(rig.until([&] { return rig.told >= 3 && rig.reachable; })) << "lost, and found again: " << nonsense;
    }
}

TEST(RedisTrouble, does_not_use_what_is_no_redis_7) {
    for (const std::string& info :
         std::vector<std::string>{"", "redis_version:6.2.0\r\nrun_id:a\r\nrole:master\r\n",
                                  "redis_version:7.0.0\r\nrole:master\r\nmaxmemory:0\r\n",
                                  "redis_version:7.0.0\r\nrole:master\r\nmaxmemory:0\r\nrun_id:a\r\n",
                                  "redis_version:7.0.0\r\nrole:master\r\nmaxmemory:0\r\nrun_id:a\r\nloading:1\r\n"}) {
        RedisImpostor redis{[&](const RedisImpostor::Words& words) -> std::string {
            if (words[0] == "INFO") return "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n";
            return impostor({})(words);
        }};
        EngineRig rig{redis.url()};
        ASSERT_TRUE(rig.down());
        EXPECT_NE(rig.why.message.find("cannot be used"), std::string::npos) << rig.why.message;
    }
}

}  // namespace
}  // namespace holdfast::store::redis
