#include <array>
#include <gtest/gtest.h>
#include <set>

#include "store/contract/marker_check.h"
#include "store/contract/position_check.h"
#include "store/redis/engine_rig.h"
#include "store/redis/redis_cluster.h"

namespace holdfast::store::redis {
namespace {

using cas::Swapped;
using Names = std::vector<std::string>;

/// The slot of all keys, and who has it in a fresh cluster of three.
const std::uint16_t slot = slot_of("{holdfast}");
const std::size_t home = slot * 3 / slot_count;

TEST(RedisClusterEngine, does_everything_on_the_master_of_one_slot) {
    RedisCluster cluster{{}};
    EngineRig rig{cluster.url() + "?cluster=1"};
    EngineRig other{cluster.node(2).url(), {}, rig.loop()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    ASSERT_TRUE(other.up()) << other.why.message;
    EXPECT_EQ(rig.hello.history, other.hello.history);
    EXPECT_EQ(rig.hello.history.find(cluster.id(home)), 0U) << rig.hello.history;
    EXPECT_EQ(rig.hello.history.find(' '), std::string::npos);
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
        EXPECT_EQ(cluster.plain(i)({"DBSIZE"}).number > 0, i == home);
    const auto reading = other.fetch("FILE:/x/7");
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_EQ(reading->value.write, 7U);
    EXPECT_LT(reading->position, 50U) << "swaps share calls of the script";
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

TEST(RedisClusterEngine, swaps_only_where_marker_and_position_are_still_what_was_seen) {
    RedisCluster cluster{{}};
    EngineRig rig{cluster.url()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    const auto swap = [&](const cas::Swap& one) {
        return rig.wait<Swapped>([&](auto reply) { rig.engine().swap(one, std::move(reply)); });
    };
    contract::check_that_swaps_ask_for_the_position(
        {.swap = swap, .fetch = [&](std::string_view name) { return rig.fetch(std::string(name)); }});
    contract::check_that_swaps_ask_for_the_marker(swap);
}

/// Records that are written over and over, each by the one who wrote it last.
struct Writers {
    explicit Writers(EngineRig& engine) : rig(engine) {
        for (std::size_t i = 0; i < last.size(); ++i)
            last[i] = 0;
    }
    static std::string name(std::size_t index) { return "lock " + std::to_string(index); }

    /// Swaps all, once; returns who failed.
    std::vector<std::size_t> write() {
        std::vector<std::size_t> failed;
        std::size_t answered = 0;
        for (std::size_t i = 0; i < last.size(); ++i) {
            const WriteId becomes = ++next_write;
            rig.start_swap({.name = name(i),
                            .expected = last[i],
                            .becomes = becomes,
                            .holders = {"me"},
                            .keep_until = EngineTime{1h} + 24h * 365 * 200},
                           [&, i, becomes](const Result<Swapped>& swapped) {
                               ++answered;
                               if (swapped) {
                                   EXPECT_TRUE(swapped->done) << "somebody else wrote " << name(i);
                                   EXPECT_GE(swapped->position, position);
                                   position = std::max(position, swapped->position);
                                   last[i] = becomes;
                               } else {
                                   failed.push_back(i);
                                   why = swapped.error();
                               }
                           });
        }
        EXPECT_TRUE(rig.until([&] { return answered == last.size(); }));
        return failed;
    }

    EngineRig& rig;
    std::array<WriteId, 20> last;
    std::uint64_t next_write = 0;
    cas::Position position = 0;
    Error why;
};

TEST(RedisClusterEngine, waits_while_its_slot_moves_and_goes_on_where_it_is_then) {
    RedisCluster cluster{{.masters = 3, .spare = 1}};
    EngineRig rig{cluster.url()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    ASSERT_TRUE(rig.swap({.name = std::string(cas::marker_name), .becomes = 1})->done);
    Writers writers{rig};
    const std::size_t neighbour = (home + 1) % 3, spare = 3;
    for (const auto& [from, to] : {std::pair{home, neighbour}, std::pair{neighbour, spare}}) {
        const std::string history = rig.hello.history;
        ASSERT_TRUE(writers.write().empty()) << writers.why.message;
        cluster.begin_move(slot, from, to);
        EXPECT_TRUE(writers.write().empty()) << "nothing has moved yet: " << writers.why.message;
        for (std::size_t i = 0; i < 10; ++i)
            cluster.move_key("{holdfast}:r:" + Writers::name(i), from, to);
        EXPECT_EQ(writers.write().size(), writers.last.size()) << "they share a call, and some are elsewhere";
        EXPECT_EQ(writers.why.code, Code::store_unavailable);
        EXPECT_NE(writers.why.message.find("TRYAGAIN"), std::string::npos) << writers.why.message;
        const auto fresh = rig.swap({.name = "fresh", .becomes = 99, .holders = {"nobody yet"}});
        ASSERT_FALSE(fresh) << "the set of its holder is not there yet";
        EXPECT_EQ(rig.hello.history, history);
        cluster.end_move(slot, from, to);
        ASSERT_TRUE(rig.until([&] { return rig.fetch(Writers::name(0)) && rig.hello.history != history; }));
        EXPECT_EQ(rig.hello.history.find(cluster.id(to)), 0U);
        EXPECT_EQ(rig.fetch("fresh")->value.write, 0U);
        for (std::size_t i = 0; i < writers.last.size(); ++i)
            EXPECT_EQ(rig.fetch(Writers::name(i))->value.write, writers.last[i]) << i;
        EXPECT_GE(rig.fetch("x")->position, writers.position) << "the counter moved along";
    }
    EXPECT_TRUE(writers.write().empty()) << writers.why.message;
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")).size(), writers.last.size());
}

TEST(RedisClusterEngine, is_unreachable_without_its_master_and_has_another_history_after) {
    RedisCluster cluster{{}};
    EngineRig rig{cluster.url()};
    ASSERT_TRUE(rig.up()) << rig.why.message;
    const std::string history = rig.hello.history;
    const WriteId marker{7, 1};
    ASSERT_TRUE(rig.swap({.name = std::string(cas::marker_name), .becomes = marker})->done);
    const auto before = rig.swap({.name = "held", .becomes = 1, .holders = {"me"}, .marker = marker});
    ASSERT_TRUE(before && before->done);
    cluster.node(home).kill();
    ASSERT_TRUE(rig.down());
    ASSERT_FALSE(rig.fetch("x"));
    cluster.node(home).start();
    ASSERT_TRUE(rig.up()) << rig.why.message;
    EXPECT_NE(rig.hello.history, history);
    ASSERT_TRUE(rig.until([&] {
        const auto swapped = rig.swap({.name = "x", .becomes = 1});
        return swapped && swapped->done;
    }));
    for (const Write& again : {Write{.name = "held", .becomes = 2, .holders = {"you"}, .marker = marker},
                               Write{.name = "held", .becomes = 2, .position = before->position}}) {
        const auto lost = rig.swap(again);
        ASSERT_FALSE(lost) << "it kept nothing";
        EXPECT_EQ(lost.error().code, Code::store_lost) << lost.error().message;
    }
    EXPECT_EQ(EngineRig::names(rig.of_holder("you")), Names{});
}

TEST(RedisClusterEngine, goes_on_at_a_replica_that_takes_over_with_what_it_has_confirmed) {
    RedisCluster cluster{{.masters = 3, .spare = 1}};
    PlainRedis& replica = cluster.plain(3);
    ASSERT_EQ(replica({"CLUSTER", "REPLICATE", cluster.id(home)}).text, "OK");
    EngineRig careful{cluster.url() + "?wait=1&wait_ms=3000"};
    EngineRig rig{cluster.node((home + 1) % 3).url(), {}, careful.loop()};
    ASSERT_TRUE(rig.until([&] {
        return replica({"INFO", "replication"}).text.find("master_link_status:up") != std::string::npos;
    }));
    ASSERT_EQ(cluster.plain(home)({"WAIT", "1", "60000"}).number, 1) << "the master does not count it yet";
    ASSERT_TRUE(careful.up()) << careful.why.message;
    ASSERT_TRUE(rig.up()) << rig.why.message;
    const std::string history = rig.hello.history;
    std::vector<std::string> held;
    for (int i = 0; i < 20; ++i)
        held.push_back("lock " + std::to_string(i));
    std::size_t confirmed = 0;
    for (const std::string& name : held)
        careful.start_swap({.name = name, .becomes = 1, .holders = {"me"}}, [&](const Result<Swapped>& swapped) {
            ASSERT_TRUE(swapped) << swapped.error().message;
            confirmed += swapped->done;
        });
    ASSERT_TRUE(careful.until([&] { return confirmed == held.size(); }));

    cluster.node(home).kill();
    ASSERT_TRUE(rig.down());
    ASSERT_EQ(replica({"CLUSTER", "FAILOVER", "TAKEOVER"}).text, "OK");
    ASSERT_TRUE(rig.until([&] { return rig.reachable && careful.reachable; }))
        << rig.why.message << "\nthe replica knows:\n"
        << cluster.nodes_known_to(3) << "the first seed knows:\n"
        << cluster.nodes_known_to((home + 1) % 3);
    EXPECT_NE(rig.hello.history, history);
    EXPECT_EQ(rig.hello.history.find(cluster.id(3)), 0U);
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

}  // namespace
}  // namespace holdfast::store::redis
