// What a store makes of resources that overlap: the rules see the records around a record, and a place that becomes
// free is told to whoever waits around it.

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "base/random.h"
#include "lease/resource.h"
#include "store/memory/memory_store_fixture.h"

namespace holdfast::store::memory {
namespace {

class OverlapTest : public MemoryStoreTest {
 protected:
    std::vector<std::string> neighbours(const std::string& resource,
                                        lease::Predicate predicate = lease::Predicate::mutates) {
        std::vector<std::string> seen;
        apply(resource, [&](lease::Record&, const lease::Neighbours& around, Instant) {
            around.visit(predicate, [&](std::string_view name, const lease::Record& record) {
                EXPECT_FALSE(record.empty());
                seen.emplace_back(name);
                return true;
            });
            return Effect::none;
        });
        return seen;
    }
    /// What was told since it was last asked, in order of names.
    std::vector<std::string> told() {
        std::vector<std::string> news = std::move(due);
        due.clear();
        std::sort(news.begin(), news.end());
        return news;
    }
    using Names = std::vector<std::string>;
};

TEST_F(OverlapTest, a_tree_and_what_lies_in_it_exclude_each_other) {
    const lease::Token tree = acquire("FILE:/src/**", "alice");
    EXPECT_EQ(acquire("FILE:/src/main.c", "bob"), 0U);
    EXPECT_EQ(acquire("FILE:/src/net/tcp/**", "bob"), 0U);
    EXPECT_EQ(acquire("FILE:/**", "bob"), 0U);
    EXPECT_NE(acquire("FILE:/src", "bob"), 0U);
    EXPECT_NE(acquire("FILE:/srcs/main.c", "bob"), 0U);
    EXPECT_NE(acquire("@red/FILE:/src/main.c", "bob"), 0U);
    EXPECT_NE(acquire("FILE:/src/main.c", "alice"), 0U) << "nobody is in their own way";
    release("FILE:/src/**", tree, "alice");
    EXPECT_EQ(acquire("FILE:/src/**", "bob"), 0U) << "alice still has a file in it";
    EXPECT_NE(acquire("FILE:/src/net/tcp/**", "bob"), 0U);
}

TEST_F(OverlapTest, only_records_that_can_matter_are_shown) {
    acquire("FILE:/a/read", "alice", 60s, lease::Predicate::consumes);
    acquire("FILE:/a/written", "alice", 60s, lease::Predicate::mutates);
    const lease::Token gone = acquire("FILE:/a/gone", "alice");
    release("FILE:/a/gone", gone, "alice");
    wait("FILE:/a/waited-for", 1, lease::Predicate::deletes);
    EXPECT_EQ(neighbours("FILE:/a/**", lease::Predicate::consumes), (Names{"FILE:/a/written", "FILE:/a/waited-for"}));
    EXPECT_EQ(neighbours("FILE:/a/**", lease::Predicate::mutates),
              (Names{"FILE:/a/read", "FILE:/a/written", "FILE:/a/waited-for"}));
    EXPECT_EQ(neighbours("FILE:/a/written"), Names{});
    EXPECT_EQ(neighbours("SYMBOL:/a/**"), Names{});
}

TEST_F(OverlapTest, a_record_is_shown_as_it_is_after_each_change_of_what_is_in_it) {
    const lease::Token reader = acquire("FILE:/a/x", "alice", 60s, lease::Predicate::consumes);
    EXPECT_EQ(neighbours("FILE:/**", lease::Predicate::consumes), Names{});
    release("FILE:/a/x", reader, "alice");
    const lease::Token writer = acquire("FILE:/a/x", "alice");
    EXPECT_EQ(neighbours("FILE:/**", lease::Predicate::consumes), Names{"FILE:/a/x"});
    declare_restart("FILE:/a/x", "alice");
    sweep(start + 60s);
    EXPECT_EQ(state("FILE:/a/x", writer), lease::LeaseState::grace);
    EXPECT_EQ(neighbours("FILE:/**", lease::Predicate::consumes), Names{"FILE:/a/x"}) << "what is reserved counts (R5)";
    EXPECT_EQ(acquire("FILE:/**", "bob"), 0U);
    sweep(start + 60s + lease::limits::grace);
    EXPECT_EQ(neighbours("FILE:/**", lease::Predicate::consumes), Names{});
    EXPECT_NE(acquire("FILE:/**", "bob"), 0U);
}

TEST_F(OverlapTest, what_has_run_out_is_in_nobodys_way_before_the_sweep_has_come) {  // T2
    acquire("FILE:/a/**", "alice", 10s);
    store.advance(start + 10s - 1ns, 0);
    EXPECT_EQ(acquire("FILE:/a/x", "bob"), 0U);
    store.advance(start + 10s, 0);
    EXPECT_TRUE(expired.empty());
    EXPECT_NE(acquire("FILE:/a/x", "bob"), 0U);
}

TEST_F(OverlapTest, everyone_below_a_tree_that_is_released_is_told) {
    const lease::Token tree = acquire("FILE:/a/**", "alice");
    const lease::Token other = acquire("FILE:/b/**", "alice");
    wait("FILE:/a/x", 1);
    wait("FILE:/a/x", 2);
    wait("FILE:/a/b/c/**", 3);
    wait("FILE:/b/x", 4);
    wait("FILE:/a/held", 5);
    apply("FILE:/a/held", [&](lease::Record& record, const lease::Neighbours&, Instant) {
        lease::Lease lease;
        lease.token = ++next_token;
        lease.holder = "carol";
        lease.expires_at = start + 1h;
        record.leases.push_back(lease);
        return Effect::changed;
    });
    release("FILE:/a/**", tree, "alice");
    EXPECT_EQ(told(), (Names{"FILE:/a/b/c/** 3", "FILE:/a/x 1"}));
    release("FILE:/b/**", other, "alice");
    EXPECT_EQ(told(), Names{"FILE:/b/x 4"});
}

TEST_F(OverlapTest, who_waits_for_a_tree_is_told_when_the_last_file_in_it_is_free) {
    const lease::Token first = acquire("FILE:/a/b/first", "alice");
    const lease::Token second = acquire("FILE:/a/second", "bob");
    wait("FILE:/a/**", 1);
    release("FILE:/a/b/first", first, "alice");
    EXPECT_EQ(told(), Names{});
    release("FILE:/a/second", second, "bob");
    EXPECT_EQ(told(), Names{"FILE:/a/** 1"});
}

TEST_F(OverlapTest, a_turn_comes_with_the_end_of_a_lease_a_reservation_or_a_wait_around_it) {
    acquire("FILE:/a/**", "alice", 10s);
    declare_restart("FILE:/a/**", "alice");
    wait("FILE:/a/x", 2);
    wait("FILE:/**", 1, lease::Predicate::mutates, 20s + lease::limits::grace);  // the older one: 2 comes after it
    sweep(start + 10s);
    EXPECT_EQ(told(), Names{}) << "reserved";
    sweep(start + 10s + lease::limits::grace);
    EXPECT_EQ(told(), Names{"FILE:/** 1"});
    sweep(start + 20s + lease::limits::grace);
    EXPECT_EQ(told(), Names{"FILE:/a/x 2"}) << "the wait ahead of it ended";
}

TEST_F(OverlapTest, a_turn_comes_when_the_one_ahead_around_it_goes_away) {
    const lease::Token reading = acquire("FILE:/a/x", "alice", 60s, lease::Predicate::consumes);
    wait("FILE:/a/**", 1);
    wait("FILE:/a/y", 2);
    leave("FILE:/a/**", 1);
    EXPECT_EQ(told(), Names{"FILE:/a/y 2"});
    release("FILE:/a/x", reading, "alice");
    EXPECT_EQ(told(), Names{}) << "not around /a/y";
}

TEST_F(OverlapTest, a_record_that_forgets_what_ended_long_ago_tells_nobody) {
    release("FILE:/a/x", acquire("FILE:/a/x", "alice"), "alice");
    wait("FILE:/a/**", 1);
    sweep(start + lease::limits::ended_kept);
    EXPECT_EQ(state("FILE:/a/x", 1), lease::LeaseState::unknown);
    EXPECT_EQ(told(), Names{});
}

TEST_F(OverlapTest, a_request_that_finds_a_lease_run_out_tells_those_around_it_too) {
    acquire("FILE:/a/**", "alice", 10s);
    wait("FILE:/a/x", 1);
    store.advance(start + 10s, 0);
    EXPECT_EQ(told(), Names{});
    state("FILE:/a/**", 1);
    EXPECT_EQ(told(), Names{"FILE:/a/x 1"});
}

TEST_F(OverlapTest, trees_are_known_again_after_a_restart) {  // S1
    acquire("FILE:/a/**", "alice");
    std::map<std::string, lease::Record> saved;
    store.for_each_record(
        [&](std::string_view resource, const lease::Record& record) { saved.emplace(resource, record); });
    MemoryStore next{*this, {5, 6}};
    next.advance(start);
    for (const auto& [resource, record] : saved)
        next.restore(resource, record);
    Names seen;
    authority::apply_rule(
        next, "FILE:/a/b/x",
        [&](lease::Record&, const lease::Neighbours& around, Instant) {
            around.visit(lease::Predicate::consumes, [&](std::string_view name, const lease::Record&) {
                seen.emplace_back(name);
                return true;
            });
            return authority::Ruling<bool>{true, Effect::none};
        },
        [](const Result<bool>&) {});
    EXPECT_EQ(seen, Names{"FILE:/a/**"});
}

TEST_F(OverlapTest, no_two_that_conflict_are_ever_granted_over_random_histories) {
    struct Held {
        std::string resource, holder;
        lease::Predicate predicate;
        lease::Token token;
        Instant until;
    };
    const auto conflict = [](const Held& a, const Held& b) {
        const bool same =
            a.resource == b.resource || lease::overlap(*lease::file_path(a.resource), *lease::file_path(b.resource));
        return same && a.holder != b.holder && !lease::compatible(a.predicate, b.predicate);
    };
    Random random{7};
    std::vector<Held> held;
    Instant now = start;
    std::size_t grants = 0;
    std::size_t refusals = 0;
    for (int step = 0; step < 20'000; ++step) {
        now += Duration{static_cast<std::int64_t>(random.below(200'000'000))};
        store.advance(now, random.below(3));
        std::erase_if(held, [&](const Held& lease) { return now >= lease.until; });
        if (random.below(4) == 0 && !held.empty()) {
            const std::size_t at = random.below(held.size());
            release(held[at].resource, held[at].token, held[at].holder);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
            continue;
        }
        std::string resource = "FILE:";
        for (std::uint64_t depth = random.below(4); depth > 0; --depth)
            resource += '/' + std::to_string(random.below(4));
        resource += random.below(5) == 0 ? "/**" : "/file";
        const Duration ttl{static_cast<std::int64_t>(1 + random.below(5'000'000'000))};
        Held wish{resource, "h" + std::to_string(random.below(5)), lease::all_predicates[random.below(6)], 0,
                  now + ttl};
        const bool free =
            std::none_of(held.begin(), held.end(), [&](const Held& other) { return conflict(wish, other); });
        wish.token = acquire(wish.resource, wish.holder, ttl, wish.predicate);
        ASSERT_EQ(wish.token != 0, free) << "step " << step << " " << resource;
        ++(free ? grants : refusals);
        if (free) held.push_back(wish);
    }
    EXPECT_GT(grants, 1000U);
    EXPECT_GT(refusals, 1000U);
}

}  // namespace
}  // namespace holdfast::store::memory
