#include <gtest/gtest.h>
#include <set>

#include "store/redis/clock_file.h"
#include "store/redis/engine_rig.h"
#include "store/redis/redis_cluster.h"

namespace holdfast {
namespace {

using core::Swapped;
using Names = std::vector<std::string>;

/// The record's slot, and who has it in a fresh cluster of three.
std::uint16_t slot_of(const std::string& name) {
    return redis_engine::slot_of("holdfast:r:" + name);
}
std::size_t owner_of(const std::string& name) {
    return std::min<std::size_t>(slot_of(name) * 3 / redis_engine::slot_count, 2);
}

TEST(RedisClusterEngine, does_everything_on_three_masters) {
    RedisCluster cluster{{}};
    EngineRig rig{cluster.url() + "?cluster=1"};
    EngineRig other{cluster.node(2).url(), {}, rig.loop()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    ASSERT_TRUE(other.up()) << other.why.message;
    EXPECT_EQ(rig.hello.life, other.hello.life);
    EXPECT_TRUE(rig.hello.forgets);
    std::size_t done = 0;
    const EngineTime now = rig.now();
    for (std::uint64_t write = 1; write <= 300; ++write)
        rig.start_swap({.name = "FILE:/x/" + std::to_string(write),
                        .becomes = write,
                        .holders = {"h", "holder " + std::to_string(write)},
                        .keep_until = now + 1h,
                        .due = write <= 3 ? now - 3s : now + 1h,
                        .notice = write == 300 ? "told" : ""},
                       [&](const Result<Swapped>& swapped) {
                           ASSERT_TRUE(swapped) << swapped.error().message;
                           done += swapped->done;
                       });
    ASSERT_TRUE(rig.until([&] { return done == 300; }));
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_GT(cluster.plain(i)({"DBSIZE"}).number, 50) << "all have their share";
    const auto reading = other.fetch("FILE:/x/7");
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_EQ(reading->kept.write, 7U);
    EXPECT_FALSE(other.swap({.name = "FILE:/x/7", .becomes = 1000})->done);
    EXPECT_EQ(EngineRig::names(other.of_holder("h", 1000)).size(), 300U);
    EXPECT_EQ(EngineRig::names(other.of_holder("holder 7")), Names{"FILE:/x/7"});
    EXPECT_EQ(EngineRig::names(other.overlapping("FILE:/**", 1000)).size(), 300U);
    EXPECT_EQ(other.overdue()->size(), 3U);
    std::set<std::string> found;
    std::string next;
    do {
        const auto page = other.scan(Kind::record, "FILE:/x/", next, 20);
        for (const auto& name : EngineRig::names(page))
            found.insert(name);
        next = page->next;
    } while (!next.empty());
    EXPECT_EQ(found.size(), 300U);
    EXPECT_TRUE(rig.until([&] { return rig.notices.size() == 1 && other.notices.size() == 1; }));
}

TEST(RedisClusterEngine, follows_slots_that_move_under_load) {
    RedisCluster cluster{{}};
    EngineRig rig{cluster.url()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    // Twenty records of one slot, each written over and over by the one who wrote it last.
    const std::string tag = "{moves}";
    const std::size_t from = owner_of(tag);
    const std::size_t to = (from + 1) % 3;
    struct Writer {
        std::string name;
        WriteId last = 0;
        std::size_t writes = 0;
    };
    std::vector<Writer> writers(20);
    bool over = false;
    std::size_t under_way = 0;
    std::uint64_t next_write = 0;
    std::function<void(Writer&)> go = [&](Writer& writer) {
        if (over) return;
        ++under_way;
        const WriteId becomes = ++next_write;
        rig.start_swap({.name = writer.name, .expected = writer.last, .becomes = becomes},
                       [&, becomes](const Result<Swapped>& swapped) {
                           --under_way;
                           ASSERT_TRUE(swapped) << swapped.error().message;
                           ASSERT_TRUE(swapped->done) << "somebody else wrote " << writer.name;
                           writer.last = becomes;
                           ++writer.writes;
                           go(writer);
                       });
    };
    for (std::size_t i = 0; i < writers.size(); ++i) {
        writers[i].name = tag + std::to_string(i);
        go(writers[i]);
    }
    const auto run_on = [&] {
        const std::uint64_t until = next_write + 400;
        ASSERT_TRUE(rig.until([&] { return next_write > until || testing::Test::HasFailure(); }));
    };
    run_on();
    const auto slot = slot_of(tag);
    for (const auto& [source, target] : {std::pair{from, to}, std::pair{to, from}}) {
        cluster.begin_move(slot, source, target);
        run_on();
        for (std::size_t i = 0; i < 10; ++i)
            cluster.move_key("holdfast:r:" + writers[i].name, source, target);
        const auto fresh = tag + "fresh" + std::to_string(source);
        ASSERT_TRUE(rig.swap({.name = fresh, .becomes = ++next_write + 1'000'000})->done)
            << "made while the slot moves";
        run_on();
        cluster.end_move(slot, source, target);
        run_on();
        EXPECT_NE(rig.fetch(fresh)->kept.write, 0U);
    }
    over = true;
    ASSERT_TRUE(rig.until([&] { return under_way == 0; }));
    for (const Writer& writer : writers) {
        EXPECT_EQ(rig.fetch(writer.name)->kept.write, writer.last);
        EXPECT_GT(writer.writes, 50U);
    }
    EXPECT_EQ(rig.told, 1) << "reachable throughout";
}

TEST(RedisClusterEngine, goes_to_a_node_that_gets_its_first_slot) {
    RedisCluster cluster{{.masters = 3, .spare = 1}};
    EngineRig rig{cluster.url()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    const std::string life = rig.hello.life;
    const std::string name = "{new}x";
    const std::size_t from = owner_of(name);
    ASSERT_TRUE(rig.swap({.name = name, .becomes = 1})->done);
    cluster.begin_move(slot_of(name), from, 3);
    cluster.move_key("holdfast:r:" + name, from, 3);
    const auto asked = rig.swap({.name = name, .expected = 1, .becomes = 2});
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_TRUE(asked->done);
    cluster.end_move(slot_of(name), from, 3);
    // The masters are others now, which is told as another life.
    EXPECT_TRUE(rig.until([&] {
        const auto reading = rig.fetch(name);
        return reading && reading->kept.write == 2 && rig.hello.life != life;
    }));
}

TEST(RedisClusterEngine, is_unreachable_without_one_of_its_masters_and_has_another_life_after) {
    RedisCluster cluster{{}};
    EngineRig rig{cluster.url()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    const std::string life = rig.hello.life;
    cluster.node(0).kill();
    ASSERT_TRUE(rig.down()) << "the one whose address was given";
    ASSERT_FALSE(rig.fetch("x"));
    cluster.node(0).start();
    ASSERT_TRUE(rig.up()) << rig.why.message;
    EXPECT_NE(rig.hello.life, life);
    ASSERT_TRUE(rig.until([&] {
        const auto swapped = rig.swap({.name = "x", .becomes = 1});
        return swapped && swapped->done;
    }));
}

TEST(RedisClusterEngine, goes_on_at_a_replica_that_takes_over_with_what_it_has_confirmed) {
    RedisCluster cluster{{.masters = 3, .spare = 1}};
    PlainRedis& replica = cluster.plain(3);
    ASSERT_EQ(replica({"CLUSTER", "REPLICATE", cluster.id(0)}).text, "OK");
    EngineRig careful{cluster.url() + "?wait=1&wait_ms=3000"};
    EngineRig rig{cluster.node(1).url(), {}, careful.loop()};
    ASSERT_TRUE(rig.until([&] {
        return replica({"INFO", "replication"}).text.find("master_link_status:up") != std::string::npos;
    }));
    ASSERT_EQ(cluster.plain(0)({"WAIT", "1", "60000"}).number, 1) << "the master does not count it yet";
    ASSERT_TRUE(careful.up()) << careful.why.message;
    ASSERT_TRUE(rig.up()) << rig.why.message;
    const std::string life = rig.hello.life;
    std::vector<std::string> held;
    for (int i = 0; held.size() < 20; ++i)
        if (const std::string name = "lock " + std::to_string(i); owner_of(name) == 0) held.push_back(name);
    std::size_t confirmed = 0;
    for (const std::string& name : held)
        careful.start_swap({.name = name, .becomes = 1, .holders = {"me"}}, [&](const Result<Swapped>& swapped) {
            ASSERT_TRUE(swapped) << swapped.error().message;
            confirmed += swapped->done;
        });
    ASSERT_TRUE(careful.until([&] { return confirmed == held.size(); }));

    cluster.node(0).kill();
    ASSERT_TRUE(rig.down());
    ASSERT_EQ(replica({"CLUSTER", "FAILOVER", "TAKEOVER"}).text, "OK");
    ASSERT_TRUE(rig.until([&] { return rig.reachable && careful.reachable; }))
        << rig.why.message << "\nthe replica knows:\n"
        << cluster.nodes_known_to(3) << "the first seed knows:\n"
        << cluster.nodes_known_to(1);
    EXPECT_NE(rig.hello.life, life);
    for (const std::string& name : held) {
        ASSERT_TRUE(rig.until([&] { return static_cast<bool>(rig.fetch(name)); })) << name;
        const auto again = rig.swap({.name = name, .becomes = 2, .holders = {"you"}});
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_FALSE(again->done) << name;
        EXPECT_EQ(again->found.write, 1U) << name << " was confirmed, and is held";
    }
    ASSERT_TRUE(rig.swap({.name = held[0], .expected = 1, .becomes = 3, .holders = {"me"}})->done);
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")).size(), held.size());
    EXPECT_FALSE(careful.swap({.name = held[0], .expected = 3, .becomes = 4})) << "it has no replica now";
}

TEST(RedisClusterEngine, keeps_times_by_the_clock_of_each_master) {
    ClockFile day_ahead, day_behind;
    day_ahead.set(86'400);
    day_behind.set(-86'400);
    RedisCluster cluster{{.environments = {{0, day_ahead.environment()}, {1, day_behind.environment()}}}};
    EngineRig rig{cluster.url()};
    EngineRig other{cluster.node(1).url(), {}, rig.loop()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    ASSERT_TRUE(other.up()) << other.why.message;
    const EngineTime start = rig.now();
    std::set<std::size_t> owners;
    for (std::uint64_t write = 1; write <= 30; ++write) {
        const std::string name = "n" + std::to_string(write);
        owners.insert(owner_of(name));
        const auto before = rig.fetch(name);
        ASSERT_TRUE(before) << before.error().message;
        EXPECT_LT(before->now - start, 1min) << "one clock, seen from above";
        EXPECT_GT(before->now - start, -1min);
        const EngineTime written = before->now + 17ns;
        const auto swapped = rig.swap({.name = name,
                                       .becomes = write,
                                       .holders = {"h"},
                                       .from = before->now - 1s,
                                       .until = before->now + 1min,
                                       .written_at = written,
                                       .keep_until = written + 5min,
                                       .due = written - 1min});
        ASSERT_TRUE(swapped) << swapped.error().message;
        ASSERT_TRUE(swapped->done) << name;
        const auto seen = other.fetch(name);
        ASSERT_TRUE(seen) << seen.error().message;
        ASSERT_EQ(seen->kept.write, write);
        EXPECT_LT(seen->now - seen->kept.written_at, 1min) << "as long ago as it was";
        EXPECT_GT(seen->now - seen->kept.written_at, -1s);
        EXPECT_FALSE(rig.swap({.name = name, .expected = write, .becomes = 99, .from = before->now + 1min})->done);
        EXPECT_FALSE(rig.swap({.name = name, .expected = write, .becomes = 99, .until = before->now})->done);
    }
    EXPECT_EQ(owners.size(), 3U);
    EXPECT_EQ(EngineRig::names(other.of_holder("h")).size(), 30U);
    EXPECT_FALSE(other.overdue()->empty());
}

}  // namespace
}  // namespace holdfast
