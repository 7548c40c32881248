#include <gtest/gtest.h>

#include "base/random.h"
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
    EXPECT_EQ(plain({"EXISTS", "holdfast:h:me"}).number, 0);
    EXPECT_EQ(EngineRig::names(rig.of_holder("you")), Names{"a"});
    ASSERT_TRUE(rig.swap({.name = "a", .expected = 2, .becomes = 3, .bytes = ""})->done);
    EXPECT_EQ(sets(), (std::map<std::string, Names>{}));
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
        // Both in one turn: the first front takes the holder out, and the other may put it in again at once.
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

TEST_F(RedisIndexTest, is_written_with_the_record_in_one_call) {
    const EngineTime now = rig.now();
    const long before = calls_of("evalsha"), entered = calls_of("zadd");
    const Write first{
        .name = "FILE:/a/b", .becomes = 1, .holders = {"me"}, .keep_until = now + 1h, .due = now + 60s + 999ns};
    ASSERT_TRUE(rig.swap(first)->done);
    EXPECT_EQ(calls_of("zadd") - entered, 4) << "the holder, two folders and when it is due";
    EXPECT_EQ(sets(), (std::map<std::string, Names>{{"holdfast:h:me", {"FILE:/a/b"}},
                                                    {"holdfast:f:FILE:", {"FILE:/a/b"}},
                                                    {"holdfast:f:FILE:/a", {"FILE:/a/b"}},
                                                    {due_set, {"FILE:/a/b"}}}));
    EXPECT_EQ(due("FILE:/a/b"), micros(now + 60s));
    for (std::uint64_t write = 1; write <= 100; ++write)
        ASSERT_TRUE(rig.swap({.name = "FILE:/a/b",
                              .expected = write,
                              .becomes = write + 1,
                              .holders = {"me"},
                              .keep_until = now + 1h,
                              .due = now + 60s + static_cast<int>(write) * 1s})
                        ->done);
    EXPECT_EQ(calls_of("zadd") - entered, 4) << "a renewal changes no set";
    EXPECT_EQ(due("FILE:/a/b"), micros(now + 60s)) << "early enough";
    ASSERT_TRUE(rig.swap({.name = "FILE:/a/b", .expected = 101, .becomes = 102, .bytes = ""})->done);
    EXPECT_EQ(calls_of("evalsha") - before, 102);
    EXPECT_EQ(sets(), (std::map<std::string, Names>{}));
}

TEST_F(RedisIndexTest, is_as_long_behind_a_renewal_as_it_may_be) {
    const EngineTime now = rig.now(), kept = now + 1h;
    const auto write = [&](std::uint64_t number, EngineTime ends) {
        ASSERT_TRUE(
            rig.swap({.name = "x", .expected = number - 1, .becomes = number, .keep_until = kept, .due = ends})->done);
    };
    write(1, now + 10min);
    write(2, now + 20min);
    EXPECT_EQ(due("x"), micros(now + 10min)) << "it is looked at too early, and then moved";
    make_all_due();
    EXPECT_EQ(*rig.overdue(), Names{});
    EXPECT_EQ(due("x"), micros(now + 20min));
    write(3, now + 15min);
    EXPECT_EQ(due("x"), micros(now + 15min)) << "never too late";
    write(4, now);
    EXPECT_EQ(due("x"), micros(now));
    plain({"ZADD", due_set, std::to_string(micros(now + 30min)), "x"});  // another front may be at work on it
    write(5, now + 10min);
    EXPECT_EQ(due("x"), micros(now + 10min)) << "it was due before: its entry may have been moved";
}

TEST_F(RedisIndexTest, finds_each_of_many_who_share_a_record) {
    Names all;
    for (int i = 0; i < 500; ++i)
        all.push_back("holder " + std::to_string(i));
    put("x", 1, all);
    Names most(all.begin() + 1, all.end());
    most.push_back("late");
    ASSERT_TRUE(
        rig.swap({.name = "x", .expected = 1, .becomes = 2, .holders = most, .keep_until = rig.now() + 1h})->done);
    EXPECT_EQ(EngineRig::names(rig.of_holder("holder 0")), Names{});
    for (const char* holder : {"holder 1", "holder 499", "late"})
        EXPECT_EQ(EngineRig::names(rig.of_holder(holder)), Names{"x"}) << holder;
    EXPECT_EQ(sets().size(), 501U) << "the holders, and the due set";
}

TEST_F(RedisIndexTest, names_exactly_the_records_that_two_fronts_write_delete_and_let_end) {
    EngineRig other{redis.url(), {}, rig.loop()};
    ASSERT_TRUE(other.up());
    struct Kept {
        WriteId write = 0;
        Names holders{};
        bool has_end = false;
        bool is_filed = false;  ///< an entry stays when there is no end any more
    };
    std::map<std::string, Kept> model;
    Random random{7};
    WriteId next = 0;
    const EngineTime now = rig.now();
    std::size_t ended = 0, found = 0;
    for (int step = 0; step < 3000; ++step) {
        const std::string name = (random.below(2) == 0 ? "r" : "FILE:/a/b") + std::to_string(random.below(40)) +
                                 (random.below(4) == 0 ? "/**" : "");
        EngineRig& front = random.below(2) == 0 ? rig : other;
        const bool deletes = model.contains(name) && random.below(4) == 0;
        const bool ends = random.below(10) == 0;
        Kept kept{++next, {}, random.below(3) > 0};
        kept.is_filed = kept.has_end || model[name].is_filed;
        for (const char* holder : {"me", "you", "them"})
            if (random.below(3) == 0) kept.holders.emplace_back(holder);
        const auto swapped = front.swap({.name = name,
                                         .expected = model[name].write,
                                         .becomes = next,
                                         .bytes = deletes ? "" : "bytes",
                                         .holders = kept.holders,
                                         .keep_until = ends           ? now - 3s
                                                       : kept.has_end ? now + 1h
                                                                      : EngineTime::max()});
        ASSERT_TRUE(swapped) << swapped.error().message;
        ASSERT_TRUE(swapped->done) << name;
        model[name] = kept;
        if (deletes || ends) model.erase(name);
        if (ends) {
            ++ended;
            ASSERT_EQ(*front.overdue(), Names{}) << "it is past its end";
        }
        if (step % 50 != 0) continue;
        std::map<std::string, Names> expected;
        for (const auto& [each, is] : model) {
            for (const std::string& holder : is.holders)
                expected["holdfast:h:" + holder].push_back(each);
            if (each.starts_with("FILE:"))
                for (const char* folder : {"FILE:", "FILE:/a"})
                    expected[std::string("holdfast:f:") + folder].push_back(each);
            if (is.is_filed) expected[due_set].push_back(each);
        }
        ASSERT_EQ(sets(), expected) << "step " << step;
        found += model.size();
    }
    EXPECT_GT(ended, 100U);
    EXPECT_GT(found, 500U) << "too little was there to prove anything";
}

TEST_F(RedisIndexTest, ends_with_its_records_however_many_they_are) {
    const EngineTime now = rig.now();
    std::size_t done = 0;
    for (std::uint64_t write = 1; write <= 2000; ++write)
        rig.start_swap({.name = "FILE:/x/" + std::to_string(write),
                        .becomes = write,
                        .holders = {"me", "holder " + std::to_string(write)},
                        .keep_until = write % 2 == 0 ? now - 3s : now + 1h,
                        .due = now + 30min},
                       [&](const auto& swapped) { done += swapped && swapped->done; });
    ASSERT_TRUE(rig.until([&] { return done == 2000; }));
    EXPECT_EQ(*rig.overdue(100), Names{});
    EXPECT_EQ(rig.fetch("FILE:/x/2")->value.write, 0U);
    EXPECT_EQ(rig.fetch("FILE:/x/1")->value.write, 1U);
    EXPECT_EQ(EngineRig::names(rig.of_holder("me", 3000)).size(), 1000U);
    EXPECT_EQ(plain({"DBSIZE"}).number, 1000 + 1000 + 1 + 2 + 1 + 1)
        << "the records, a set for each holder, theirs, two folders, the due set and the position";
}

TEST_F(RedisIndexTest, leaves_out_a_record_that_somebody_deleted_and_has_it_again_with_the_next) {
    put("FILE:/a/b", 1, {"me"});
    plain({"DEL", "holdfast:r:FILE:/a/b"});
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")), Names{}) << "named, but not there";
    const auto lost = rig.swap({.name = "FILE:/a/b", .expected = 1, .becomes = 2, .holders = {"me"}});
    ASSERT_TRUE(lost) << lost.error().message;
    EXPECT_FALSE(lost->done);
    EXPECT_EQ(lost->found.write, 0U);
    plain({"FLUSHALL"});
    put("FILE:/a/b", 3, {"me"});
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")), Names{"FILE:/a/b"});
    EXPECT_EQ(EngineRig::names(rig.overlapping("FILE:/a/**")), Names{"FILE:/a/b"});
    plain({"DEL", "holdfast:r:FILE:/a/b"});
    make_all_due();
    EXPECT_EQ(*rig.overdue(), Names{});
    EXPECT_EQ(due("FILE:/a/b"), 0);
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
    EXPECT_EQ(due("gone"), 0);
    for (const char* name : {"late", "soon", "just now", "renewed"})
        EXPECT_GT(due(name), 0) << name;
    EXPECT_EQ(due("never"), micros(kept)) << "when it ends";
}

TEST_F(RedisIndexTest, names_again_what_still_nobody_did) {
    ASSERT_TRUE(rig.swap({.name = "late", .becomes = 1, .due = rig.now() - 3s})->done);
    EXPECT_EQ(*rig.overdue(), Names{"late"});
    make_all_due();
    EXPECT_EQ(*rig.overdue(), Names{"late"});
    const EngineTime end = rig.now() + 1h;
    ASSERT_TRUE(rig.swap({.name = "late", .expected = 1, .becomes = 2, .due = end})->done);
    EXPECT_LT(due("late"), micros(end)) << "looked at again, soon";
    make_all_due();
    EXPECT_EQ(*rig.overdue(), Names{});
    EXPECT_EQ(due("late"), micros(end)) << "moved to where it belongs";
}

TEST_F(RedisIndexTest, sees_a_due_time_that_became_earlier) {
    const EngineTime now = rig.now();
    ASSERT_TRUE(rig.swap({.name = "x", .becomes = 1, .keep_until = now + 1h, .due = now + 30min})->done);
    ASSERT_TRUE(rig.swap({.name = "x", .expected = 1, .becomes = 2, .keep_until = now + 1h, .due = now - 3s})->done);
    EXPECT_EQ(*rig.overdue(), Names{"x"});
}

}  // namespace
}  // namespace holdfast::store::redis
