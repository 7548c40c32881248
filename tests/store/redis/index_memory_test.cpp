#include <gtest/gtest.h>
#include <map>

#include "base/random.h"
#include "store/redis/index_rig.h"

namespace holdfast::store::redis {
namespace {

class RedisIndexMemoryTest : public RedisIndexTest {
 protected:
    EngineRig other{redis.url(), {}, rig.loop()};

    void SetUp() override {
        RedisIndexTest::SetUp();
        ASSERT_TRUE(other.up()) << other.why.message;
    }
    void write(EngineRig& front, const std::string& name, const Names& holders, EngineTime due = EngineTime::max()) {
        const WriteId expected = last[name];
        last[name] = ++next;
        const auto swapped = front.swap({.name = name,
                                         .expected = expected,
                                         .becomes = next,
                                         .holders = holders,
                                         .keep_until = front.now() + 1h,
                                         .due = due});
        ASSERT_TRUE(swapped) << swapped.error().message;
        ASSERT_TRUE(swapped->done) << name;
    }
    void remove(EngineRig& front, const std::string& name) {
        ASSERT_TRUE(front.swap({.name = name, .expected = last[name], .becomes = ++next, .bytes = ""})->done);
        last.erase(name);
    }

    std::map<std::string, WriteId> last;
    WriteId next = 0;
};

TEST_F(RedisIndexMemoryTest, writes_the_indices_of_a_lock_once_that_is_taken_and_released_again_and_again) {
    const std::string name = "FILE:/a/b";
    const EngineTime due = rig.now() + 30min;
    write(rig, name, {"me"}, due);
    const long before = calls_of("zadd");
    EXPECT_EQ(before, 4) << "the holder, two folders and when it is due";
    for (int i = 0; i < 100; ++i) {
        write(rig, name, {"me"}, due + i * 1s);
        EXPECT_EQ(EngineRig::names(rig.of_holder("me")), Names{name});
        write(rig, name, {}, due + 1h);
        write(rig, name, {"me"}, due + i * 1s);
        remove(rig, name);
    }
    EXPECT_EQ(calls_of("zadd"), before);
    EXPECT_EQ(calls_of("zrem"), 0);
    EXPECT_TRUE(rig.until([&] { return plain({"EXISTS", "holdfast:h:me"}).number == 0; })) << "in the end";
    write(rig, name, {"me"}, due);
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")), Names{name});
    EXPECT_EQ(calls_of("zadd"), before + 1);
}

TEST_F(RedisIndexMemoryTest, relies_on_what_another_front_wants_to_drop) {
    // Who named it first, and who named it last: the score in the set is that of the last, or above it.
    for (const auto& [leaves, stays] : {std::pair{&rig, &other}, std::pair{&other, &rig}}) {
        const std::string name = leaves == &rig ? "a" : "b";
        write(rig, name, {"me"});
        write(other, name, {"me"});
        write(*leaves, name, {});
        const long before = calls_of("zadd");
        write(*stays, name, {"me"});
        EXPECT_EQ(calls_of("zadd"), before) << "known to it";
        const long looked = calls_of("zscore");
        ASSERT_TRUE(rig.until([&] { return calls_of("zscore") > looked; })) << "nobody tried to drop it";
        EXPECT_EQ(plain({"ZSCORE", "holdfast:h:me", name}).type, codec::resp::Value::Type::text) << name;
    }
    EXPECT_EQ(EngineRig::names(rig.of_holder("me")), (Names{"a", "b"}));
}

TEST_F(RedisIndexMemoryTest, finds_what_two_fronts_write_and_drop_in_any_order) {
    Random random{7};
    std::map<std::string, bool> held;
    std::size_t changes = 0;
    for (int step = 0; step < 8000; ++step) {
        const std::string name = "r" + std::to_string(random.below(400));
        EngineRig& front = random.below(2) == 0 ? rig : other;
        const bool holds = random.below(10) == 0;
        if (!holds && last.contains(name) && random.below(4) == 0)
            remove(front, name);
        else
            write(front, name, holds ? Names{"me", "you"} : Names{"you"});
        ASSERT_FALSE(HasFatalFailure());
        held[name] = holds;
        if (step % 20 != 0) continue;
        Names expected;
        for (const auto& [each, is_held] : held)
            if (is_held) expected.push_back(each);
        changes += expected.size();
        const Names found = EngineRig::names(front.of_holder("me", 1000));
        ASSERT_TRUE(std::includes(found.begin(), found.end(), expected.begin(), expected.end())) << "step " << step;
    }
    EXPECT_GT(changes, 1000U);
    EXPECT_GT(calls_of("zrem"), 50) << "too little was dropped to prove anything";
}

TEST_F(RedisIndexMemoryTest, leaves_little_behind_of_a_holder_who_goes_through_many_resources) {
    constexpr std::size_t resources = 20'000, at_once = 500;
    const EngineTime end = rig.now() + 1h;
    long most = 0;
    for (std::size_t first = 0; first < resources; first += at_once) {
        for (const bool holds : {true, false}) {
            std::size_t done = 0;
            for (std::size_t i = first; i < first + at_once; ++i) {
                const Write write{.name = "r" + std::to_string(i),
                                  .expected = holds ? 0 : 2 * i + 1,
                                  .becomes = 2 * i + (holds ? 1 : 2),
                                  .holders = holds ? Names{"me"} : Names{},
                                  .keep_until = end};
                rig.start_swap(write, [&](const auto& swapped) { done += swapped && swapped->done; });
            }
            ASSERT_TRUE(rig.until([&] { return done == at_once; }));
        }
        most = std::max<long>(most, plain({"ZCARD", "holdfast:h:me"}).number);
        EXPECT_FALSE(rig.of_holder("me", 1000)->cut);
    }
    EXPECT_LT(most, 1000);
    EXPECT_LE(plain({"ZCARD", "holdfast:h:me"}).number, 100);
    EXPECT_TRUE(rig.until([&] { return plain({"EXISTS", "holdfast:h:me"}).number == 0; }));
}

TEST_F(RedisIndexMemoryTest, names_what_is_due_whatever_became_of_another_fronts_entry) {
    const EngineTime now = rig.now();
    write(rig, "x", {}, now + 30min);
    write(other, "x", {}, now - 3s);
    remove(other, "x");
    EXPECT_EQ(*rig.overdue(), Names{});
    EXPECT_TRUE(rig.until([&] { return dues("x").size() == 1; })) << "the other's is gone";
    const long before = calls_of("zadd");
    write(rig, "x", {}, now + 40min);
    EXPECT_EQ(calls_of("zadd"), before) << "known to be earlier";
    EXPECT_EQ(dues("x"), std::vector<long>{(now + 30min).time_since_epoch() / 1us});
    write(rig, "x", {}, now - 3s);
    EXPECT_EQ(*other.overdue(), Names{"x"});
}

TEST_F(RedisIndexMemoryTest, names_what_is_due_again_once_its_entry_may_have_been_taken) {
    const EngineTime now = rig.now();
    write(rig, "x", {}, now - 3s);
    remove(rig, "x");
    EXPECT_EQ(*other.overdue(), Names{});
    EXPECT_TRUE(rig.until([&] { return dues("x").empty(); }));
    write(rig, "x", {}, now + 30min);
    EXPECT_EQ(dues("x"), std::vector<long>{(now + 30min).time_since_epoch() / 1us});
    // Taken by another front that has not looked at the record yet: what it does then must not matter.
    write(rig, "y", {}, now - 3s);
    EXPECT_EQ(*other.overdue(), Names{"y"});
    write(rig, "y", {}, now + 30min);
    const auto named = dues("y");
    ASSERT_EQ(named.size(), 1U);
    EXPECT_LT(named[0], (now + 30min).time_since_epoch() / 1us);
}

TEST_F(RedisIndexMemoryTest, does_not_keep_entries_of_fronts_that_are_gone) {
    const EngineTime now = rig.now();
    write(other, "x", {}, now + 20min);
    write(rig, "x", {}, now + 30min);
    ASSERT_EQ(dues("x").size(), 2U);
    for (int i = 0; i < 16; ++i)
        for (const auto& entry : plain({"ZRANGEBYSCORE", due_set(i), "0", micros(now + 25min)}).items)
            plain({"ZADD", due_set(i), "1", entry.text});
    EXPECT_EQ(*rig.overdue(), Names{});
    EXPECT_TRUE(rig.until([&] { return dues("x").size() == 1; }));
}

TEST_F(RedisIndexMemoryTest, does_not_trust_what_it_knows_when_a_record_is_missing) {
    write(rig, "FILE:/a/b", {"me"}, rig.now() + 30min);
    plain({"FLUSHALL"});
    const auto lost = rig.swap({.name = "FILE:/a/b", .expected = 1, .becomes = 2, .holders = {"me"}});
    ASSERT_TRUE(lost) << lost.error().message;
    EXPECT_FALSE(lost->done);
    EXPECT_EQ(lost->found.write, 0U);
    last.clear();
    write(rig, "FILE:/a/b", {"me"}, rig.now() + 30min);
    EXPECT_EQ(EngineRig::names(other.of_holder("me")), Names{"FILE:/a/b"});
    EXPECT_EQ(EngineRig::names(other.overlapping("FILE:/a/**")), Names{"FILE:/a/b"});
    EXPECT_EQ(dues("FILE:/a/b").size(), 1U);
}

}  // namespace
}  // namespace holdfast::store::redis
