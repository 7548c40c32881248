#include <gtest/gtest.h>

#include "store/redis/index_rig.h"

namespace holdfast::store::redis {
namespace {

using Names = std::vector<std::string>;

TEST_F(RedisIndexTest, finds_the_records_of_a_holder) {
    put("a", 1, {"me"});
    put("b", 2, {"me", "you", "me"});
    put("c", 3, {"you"});
    put("d", 4);
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")), (Names{"a", "b"}));
    EXPECT_EQ(EngineRig::names(rig.of_holder("you")), (Names{"b", "c"}));
    EXPECT_EQ(EngineRig::names(rig.of_holder("nobody")), Names{});
    const auto cut = rig.of_holder("me", 1);
    EXPECT_EQ(cut->entries.size(), 1U);
    EXPECT_TRUE(cut->cut);
    EXPECT_FALSE(rig.of_holder("me", 2)->cut);
    EXPECT_EQ(rig.of_holder("me", 1)->entries[0].value.bytes, "bytes");
}

TEST_F(RedisIndexTest, no_longer_names_a_record_that_the_holder_has_left) {
    put("a", 1, {"me", "you"});
    ASSERT_TRUE(
        rig.swap({.name = "a", .expected = 1, .becomes = 2, .holders = {"you"}, .keep_until = rig.now() + 1h})->done);
    EXPECT_TRUE(rig.until([&] { return plain({"EXISTS", "holdfast:h:me"}).number == 0; }));
    EXPECT_EQ(EngineRig::names(rig.of_holder("you")), Names{"a"});
    ASSERT_TRUE(rig.swap({.name = "a", .expected = 2, .becomes = 3, .bytes = ""})->done);
    EXPECT_TRUE(rig.until([&] { return plain({"EXISTS", "holdfast:h:you"}).number == 0; }));
}

TEST_F(RedisIndexTest, keeps_what_another_front_has_named_meanwhile) {
    EngineRig other{redis.url(), {}, rig.loop()};
    ASSERT_TRUE(other.up());
    const EngineTime end = rig.now() + 1h;
    std::uint64_t last = 0;
    std::size_t overtaken = 0;
    for (int round = 0; round < 100; ++round) {
        ASSERT_TRUE(
            rig.swap({.name = "a", .expected = last, .becomes = last + 1, .holders = {"me"}, .keep_until = end})->done);
        // Both in one turn: the first front takes the holder out, and says so to the index only when that is done;
        // by then the other may have put it in again.
        int answers = 0;
        bool done = false;
        rig.start_swap({.name = "a", .expected = last + 1, .becomes = last + 2, .keep_until = end},
                       [&](const auto& swapped) { answers += swapped && swapped->done; });
        const Write again{.name = "a", .expected = last + 2, .becomes = last + 3, .holders = {"me"}, .keep_until = end};
        other.start_swap(again, [&](const auto& swapped) {
            ++answers;
            done = swapped && swapped->done;
        });
        ASSERT_TRUE(rig.until([&] { return answers == 2; }));
        overtaken += done;
        ASSERT_TRUE(done || other.swap(again)->done);
        ASSERT_EQ(EngineRig::names(rig.of_holder("me")), Names{"a"}) << round;
        last += 3;
    }
    EXPECT_GT(overtaken, 0U) << "it was never close";
}

TEST_F(RedisIndexTest, renews_with_one_script_as_long_as_the_indices_reach) {
    const EngineTime now = rig.now();
    ASSERT_TRUE(
        rig.swap({.name = "FILE:/a/b", .becomes = 1, .holders = {"me"}, .keep_until = now + 60s, .due = now + 60s})
            ->done);
    const auto calls = [&] { return calls_of("evalsha"); };
    const long scripts_before = calls();
    for (std::uint64_t write = 1; write <= 100; ++write)
        ASSERT_TRUE(rig.swap({.name = "FILE:/a/b",
                              .expected = write,
                              .becomes = write + 1,
                              .holders = {"me"},
                              .keep_until = now + 60s + static_cast<int>(write) * 1s,
                              .due = now + 60s + static_cast<int>(write) * 1s})
                        ->done);
    EXPECT_EQ(calls() - scripts_before, 100);
    ASSERT_TRUE(
        rig.swap({.name = "FILE:/a/b", .expected = 101, .becomes = 102, .holders = {"me"}, .keep_until = now + 1h})
            ->done);
    EXPECT_EQ(calls() - scripts_before, 100 + 4) << "the holder, two folders and the record";
}

TEST_F(RedisIndexTest, names_a_record_for_longer_than_it_lasts) {
    const EngineTime end = rig.now() + 1h;
    ASSERT_TRUE(rig.swap({.name = "FILE:/a/b", .becomes = 1, .holders = {"me"}, .keep_until = end, .due = end})->done);
    const double last = static_cast<double>(end.time_since_epoch() / 1us);
    for (const char* key : {"holdfast:h:me", "holdfast:f:FILE:", "holdfast:f:FILE:/a"}) {
        EXPECT_GE(std::stod(plain({"ZSCORE", key, "FILE:/a/b"}).text), last) << key;
        EXPECT_GE(plain({"PEXPIRETIME", key}).number, end.time_since_epoch() / 1ms) << key;
    }
    EXPECT_EQ(dues("FILE:/a/b"), std::vector<long>{end.time_since_epoch() / 1us});
}

TEST_F(RedisIndexTest, cleans_up_what_is_past) {
    plain({"ZADD", "holdfast:h:me", "1000000", "long gone"});
    put("a", 1, {"me"});
    EXPECT_EQ(plain({"ZCARD", "holdfast:h:me"}).number, 1);
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")), Names{"a"});
    plain({"DEL", "holdfast:r:a"});
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")), Names{}) << "named, but not there";
}

TEST_F(RedisIndexTest, finds_the_files_and_trees_that_overlap) {
    std::uint64_t write = 0;
    for (const char* name : {"FILE:/**", "FILE:/a/**", "FILE:/a/b", "FILE:/a/b/**", "FILE:/a/b/c", "FILE:/ab",
                             "FILE:/a", "FILE:rel/x", "FILE:rel/**", "@other/FILE:/a/b", "@other/FILE:/a/**", "plain"})
        put(name, ++write);
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:/a/b")), (Names{"FILE:/**", "FILE:/a/**"}));
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:/a/b/c")), (Names{"FILE:/**", "FILE:/a/**", "FILE:/a/b/**"}));
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:/a/**")),
              (Names{"FILE:/**", "FILE:/a/b", "FILE:/a/b/**", "FILE:/a/b/c"}));
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:/**")),
              (Names{"FILE:/a", "FILE:/a/**", "FILE:/a/b", "FILE:/a/b/**", "FILE:/a/b/c", "FILE:/ab"}));
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:rel/**")), Names{"FILE:rel/x"});
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:rel/y")), Names{"FILE:rel/**"});
    EXPECT_EQ(EngineRig::names(rig.overlapping("@other/FILE:/a/**")), Names{"@other/FILE:/a/b"});
    EXPECT_EQ(EngineRig::names(rig.overlapping("plain")), Names{});
    EXPECT_TRUE(rig.overlapping("FILE:/**", 3)->cut);
    EXPECT_EQ(rig.overlapping("FILE:/**", 3)->entries.size(), 3U);
    EXPECT_FALSE(rig.overlapping("FILE:/**", 6)->cut);
    EXPECT_GT(rig.overlapping("FILE:unheard/of")->now, EngineTime{});
}

TEST_F(RedisIndexTest, finds_what_overlaps_however_deep_it_lies) {
    std::string deep = "FILE:";
    for (int i = 0; i < 300; ++i)
        deep += "/d";
    put(deep + "/file", 1);
    put(deep + "/**", 2);
    put(deep + "/e/**", 3);
    put("FILE:/d/**", 4);
    EXPECT_EQ(EngineRig::names(rig.overlapping(deep + "/e/x")), (Names{"FILE:/d/**", deep + "/**", deep + "/e/**"}));
    EXPECT_EQ(EngineRig::names(rig.overlapping(deep + "/**")), (Names{"FILE:/d/**", deep + "/e/**", deep + "/file"}));
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:/d/**")), (Names{deep + "/**", deep + "/e/**", deep + "/file"}));
    EXPECT_LT(plain({"DBSIZE"}).number, 100) << "a set for each folder would be 300";
}

TEST_F(RedisIndexTest, scans_everything_once_at_least_by_its_beginning) {
    const std::string odd = "a*[x]?";
    for (int i = 0; i < 500; ++i)
        put((i % 2 == 0 ? odd : "other") + std::to_string(i), static_cast<std::uint64_t>(i + 1));
    ASSERT_TRUE(rig.swap({.name = odd, .becomes = 1000, .kind = Kind::document})->done);
    std::vector<std::string> found;
    std::string next;
    do {
        const auto page = rig.scan(Kind::record, odd, next, 50);
        const auto names = EngineRig::names(page);
        EXPECT_LE(names.size(), 100U);
        found.insert(found.end(), names.begin(), names.end());
        next = page->next;
    } while (!next.empty());
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    EXPECT_EQ(found.size(), 250U);
    EXPECT_EQ(EngineRig::names(rig.scan(Kind::document, "", "", 1000)), Names{odd});
    EXPECT_FALSE(rig.scan(Kind::record, "", "nonsense", 50));
    EXPECT_TRUE(rig.scan(Kind::record, "", "1.17", 50)) << "of another process: from the start";
}

TEST_F(RedisIndexTest, names_what_nobody_did_in_time_to_one_front_at_a_time) {
    EngineRig other{redis.url(), {}, rig.loop()};
    ASSERT_TRUE(other.up());
    const EngineTime now = rig.now();
    const EngineTime kept = now + 1h;
    ASSERT_TRUE(rig.swap({.name = "late", .becomes = 1, .keep_until = kept, .due = now - 3s})->done);
    ASSERT_TRUE(rig.swap({.name = "soon", .becomes = 2, .keep_until = kept, .due = now + 30min})->done);
    ASSERT_TRUE(rig.swap({.name = "just now", .becomes = 3, .keep_until = kept, .due = now})->done);
    ASSERT_TRUE(rig.swap({.name = "renewed", .becomes = 4, .keep_until = kept, .due = now - 3s})->done);
    ASSERT_TRUE(
        rig.swap({.name = "renewed", .expected = 4, .becomes = 5, .keep_until = kept, .due = now + 30min})->done);
    ASSERT_TRUE(rig.swap({.name = "gone", .becomes = 6, .keep_until = kept, .due = now - 3s})->done);
    ASSERT_TRUE(rig.swap({.name = "gone", .expected = 6, .becomes = 7, .bytes = ""})->done);
    ASSERT_TRUE(rig.swap({.name = "never", .becomes = 8, .keep_until = kept, .due = now - 3s})->done);
    ASSERT_TRUE(rig.swap({.name = "never", .expected = 8, .becomes = 9, .keep_until = kept})->done);
    EXPECT_EQ(*rig.overdue(), Names{"late"});
    const auto again = *other.overdue();
    EXPECT_EQ(std::count(again.begin(), again.end(), "late"), 0) << "not at once";
    const auto is_named = [&](const std::string& name) { return !dues(name).empty(); };
    EXPECT_TRUE(rig.until([&] { return !is_named("gone") && !is_named("never"); }));
    EXPECT_TRUE(is_named("late") && is_named("soon") && is_named("just now") && is_named("renewed"));
}

TEST_F(RedisIndexTest, names_again_what_still_nobody_did) {
    ASSERT_TRUE(rig.swap({.name = "late", .becomes = 1, .due = rig.now() - 3s})->done);
    EXPECT_EQ(*rig.overdue(), Names{"late"});
    make_all_due();
    EXPECT_EQ(*rig.overdue(), Names{"late"});
    ASSERT_TRUE(rig.swap({.name = "late", .expected = 1, .becomes = 2, .due = rig.now() + 1h})->done);
    make_all_due();
    EXPECT_EQ(*rig.overdue(), Names{});
}

TEST_F(RedisIndexTest, sees_a_due_time_that_became_earlier) {
    const EngineTime now = rig.now();
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .keep_until = now + 1h, .due = now + 30min})->done);
    ASSERT_TRUE(rig.swap({.name = "x", .expected = 1, .becomes = 2, .keep_until = now + 1h, .due = now - 3s})->done);
    EXPECT_EQ(*rig.overdue(), Names{"x"});
}

}  // namespace
}  // namespace holdfast::store::redis
