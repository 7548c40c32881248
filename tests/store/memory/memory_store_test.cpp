#include "store/memory/memory_store.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "authority/store_call.h"
#include "lease/rules.h"

namespace holdfast::core {
namespace {

constexpr Instant start{1000s};

class MemoryStoreTest : public ::testing::Test, protected StoreListener {
 protected:
    MemoryStoreTest() { store.advance(start); }

    Token acquire(const std::string& resource, const std::string& holder, Duration ttl = 60s,
                  Predicate predicate = Predicate::mutates) {
        Token granted = 0;
        apply_rule(
            store, resource,
            [&](Record& record, Instant now) {
                const Claim claim{.holder = holder,
                                  .session = "",
                                  .reason = "",
                                  .metadata = "",
                                  .predicate = predicate,
                                  .ttl = ttl,
                                  .token = ++next_token,
                                  .waiter_id = 0};
                const auto verdict = core::acquire(record, claim, now);
                if (!std::holds_alternative<Granted>(verdict)) return Ruling{true, Effect::none};
                granted = next_token;
                return Ruling{true, Effect::changed};
            },
            [](const Result<bool>&) {});
        return granted;
    }
    void release(const std::string& resource, Token token, const std::string& holder) {
        apply_rule(
            store, resource,
            [&](Record& record, Instant now) {
                core::release(record, token, holder, now);
                return Ruling{true, Effect::freed};
            },
            [](const Result<bool>&) {});
    }
    LeaseState state(const std::string& resource, Token token) {
        LeaseState found = LeaseState::unknown;
        apply_rule(
            store, resource,
            [&](Record& record, Instant now) {
                found = verify(record, token, now).state;
                return Ruling{true, Effect::none};
            },
            [](const Result<bool>&) {});
        return found;
    }
    std::vector<LeaseName> leases_of(std::string_view holder) {
        std::vector<LeaseName> names;
        store.leases_of(holder, 1000, [&](Result<std::vector<LeaseName>> found) { names = std::move(*found); });
        return names;
    }
    ListPage page(ListQuery query) {
        ListPage found;
        store.list(query, [&](Result<ListPage> listed) { found = std::move(*listed); });
        return found;
    }
    void sweep(Instant now) {
        while (store.advance(now)) {
        }
    }

    void on_expired(std::string_view resource, const Lease& lease, Duration late) override {
        expired.emplace_back(to_string(LeaseName{std::string(resource), lease.token}));
        latest = std::max(latest, late);
    }
    void on_due(std::string_view, const std::vector<std::uint64_t>& waiters) override {
        due.insert(due.end(), waiters.begin(), waiters.end());
    }

    std::vector<std::string> expired;
    std::vector<std::uint64_t> due;
    Duration latest{};
    Token next_token = 0;
    MemoryStore store{*this, {1, 2}};
};

TEST_F(MemoryStoreTest, tells_of_each_expiry_once_and_within_a_tick) {
    acquire("a", "alice", 10s);
    acquire("b", "alice", 10s + 300us);
    sweep(start + 10s - 1ns);
    EXPECT_TRUE(expired.empty());
    sweep(start + 10s);
    EXPECT_EQ(expired, std::vector<std::string>{"a#1"});
    EXPECT_EQ(store.next_due(), start + 10s + 1ms);
    sweep(store.next_due());
    EXPECT_EQ(expired, (std::vector<std::string>{"a#1", "b#2"}));
    EXPECT_LT(latest, 1ms);
    sweep(start + 60s);
    EXPECT_EQ(expired.size(), 2U);
    EXPECT_EQ(store.active_leases(), 0U);
}

TEST_F(MemoryStoreTest, honours_nothing_past_its_time_before_the_sweep_has_come) {  // T2
    for (int i = 0; i < 100; ++i)
        acquire("r" + std::to_string(i), "alice", 10s);
    store.advance(start + 10s, 1);  // the sweep may do one step only
    EXPECT_LE(expired.size(), 1U);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(state("r" + std::to_string(i), static_cast<Token>(i) + 1), LeaseState::expired);
        EXPECT_NE(acquire("r" + std::to_string(i), "bob"), 0U);
    }
    EXPECT_EQ(expired.size(), 100U) << "noticed by the requests";
    sweep(start + 11s);
    EXPECT_EQ(expired.size(), 100U) << "and told only once";
    EXPECT_TRUE(leases_of("alice").empty());
    EXPECT_EQ(leases_of("bob").size(), 100U);
}

TEST_F(MemoryStoreTest, moves_the_end_with_every_renewal) {
    const Token token = acquire("a", "alice", 10s);
    for (int i = 1; i <= 20; ++i) {
        sweep(start + i * 7s);
        apply_rule(
            store, "a",
            [&](Record& record, Instant now) {
                EXPECT_TRUE(std::holds_alternative<Renewed>(renew(record, {token, "alice", "a", {}}, Policy{}, now)));
                return Ruling{true, Effect::changed};
            },
            [](const Result<bool>&) {});
    }
    sweep(start + 150s - 1ns);
    EXPECT_TRUE(expired.empty());
    sweep(start + 150s);
    EXPECT_EQ(expired.size(), 1U);
}

TEST_F(MemoryStoreTest, sees_the_end_of_a_second_lease_that_comes_before_the_first) {
    acquire("a", "alice", 60s, Predicate::consumes);
    acquire("a", "bob", 2s, Predicate::consumes);
    sweep(start + 2s);
    EXPECT_EQ(expired, std::vector<std::string>{"a#2"});
    sweep(start + 60s);
    EXPECT_EQ(expired, (std::vector<std::string>{"a#2", "a#1"}));
}

TEST_F(MemoryStoreTest, remembers_the_ended_for_five_minutes_and_then_nothing_at_all) {  // R3
    const Token token = acquire("a", "alice");
    release("a", token, "alice");
    EXPECT_EQ(store.active_leases(), 0U);
    sweep(start + 5min - 1ns);
    EXPECT_EQ(state("a", token), LeaseState::released);
    sweep(start + 5min);
    EXPECT_EQ(state("a", token), LeaseState::unknown);
    std::size_t records = 0;
    store.for_each_record([&](std::string_view, const Record&) { ++records; });
    EXPECT_EQ(records, 0U);
    EXPECT_EQ(store.next_due(), Instant::max());
}

TEST_F(MemoryStoreTest, remembers_a_bounded_amount_of_what_ended) {
    const auto name = [](int i) { return std::to_string(i) + std::string(4000, 'n'); };
    const int many = 20'000;  // 80 MB of names
    for (int i = 0; i < many; ++i) {
        const std::string resource = name(i);
        release(resource, acquire(resource, "alice"), "alice");
    }
    sweep(start);
    EXPECT_EQ(state(name(0), 1), LeaseState::unknown) << "the oldest is forgotten early";
    EXPECT_EQ(state(name(many - 1), many), LeaseState::released);
}

TEST_F(MemoryStoreTest, tells_whose_turn_it_is_when_a_lease_runs_out) {  // G6
    acquire("a", "alice", 10s);
    apply_rule(
        store, "a",
        [&](Record& record, Instant now) {
            for (std::uint64_t id = 1; id <= 3; ++id)
                enqueue(record,
                        {.holder = "w",
                         .session = "",
                         .reason = "",
                         .metadata = "",
                         .predicate = Predicate::mutates,
                         .ttl = 1s,
                         .token = 0,
                         .waiter_id = id},
                        now + 1h);
            return Ruling{true, Effect::changed};
        },
        [](const Result<bool>&) {});
    EXPECT_TRUE(due.empty());
    sweep(start + 10s);
    EXPECT_EQ(due, std::vector<std::uint64_t>{1}) << "one place, one wake-up";
}

TEST_F(MemoryStoreTest, lists_every_lease_once_page_by_page) {
    std::set<std::string> expected;
    for (int i = 0; i < 1000; ++i) {
        const std::string name = "r" + std::to_string(i);
        expected.insert(to_string(LeaseName{name, acquire(name, "alice")}));
        if (i % 10 == 0) expected.insert(to_string(LeaseName{name, acquire(name, "alice")}));
    }
    std::multiset<std::string> listed;
    ListQuery query;
    query.limit = 7;
    do {
        const ListPage found = page(query);
        EXPECT_LE(found.leases.size(), 7U);
        for (const NamedLease& lease : found.leases)
            listed.insert(to_string(LeaseName{lease.resource, lease.lease.token}));
        query.after = found.next;
    } while (query.after != 0);
    EXPECT_EQ(listed, std::multiset<std::string>(expected.begin(), expected.end()));
}

TEST_F(MemoryStoreTest, lists_by_holder_prefix_and_namespace) {
    acquire("x/1", "alice");
    acquire("x/2", "bob");
    acquire("y/1", "alice");
    acquire("@red/x/1", "alice");
    const auto count = [&](std::string_view name_space, std::string_view prefix, std::string_view holder) {
        return page({.name_space = name_space, .prefix = prefix, .holder = holder}).leases.size();
    };
    EXPECT_EQ(count("", "", ""), 4U);
    EXPECT_EQ(count("", "x/", ""), 3U);
    EXPECT_EQ(count("default", "x/", ""), 2U);
    EXPECT_EQ(count("red", "", ""), 1U);
    EXPECT_EQ(count("default", "", "alice"), 2U);
    EXPECT_EQ(count("", "", "carol"), 0U);
    EXPECT_TRUE(page({.name_space = "", .prefix = "", .holder = "", .limit = 100, .after = 1ULL << 60}).leases.empty());
}

TEST_F(MemoryStoreTest, gives_back_after_a_restart_what_it_had) {  // S1
    const Token kept = acquire("a", "alice", 30s);
    const Token shared = acquire("b", "bob", 40s, Predicate::consumes);
    acquire("b", "carol", 50s, Predicate::consumes);
    const Token ended = acquire("c", "dave");
    release("c", ended, "dave");
    std::map<std::string, Record> saved;
    store.for_each_record([&](std::string_view resource, const Record& record) { saved.emplace(resource, record); });

    MemoryStore next{*this, {5, 6}};
    next.advance(start + 10s);
    for (const auto& [resource, record] : saved)
        next.restore(resource, record);
    EXPECT_EQ(next.active_leases(), 3U);
    std::map<std::string, Record> restored;
    next.for_each_record([&](std::string_view resource, const Record& record) { restored.emplace(resource, record); });
    EXPECT_EQ(restored, saved);
    while (next.advance(start + 40s)) {
    }
    EXPECT_EQ(expired, (std::vector<std::string>{to_string(LeaseName{"a", kept}), to_string(LeaseName{"b", shared})}));
}

TEST_F(MemoryStoreTest, bounds_the_work_of_one_turn_in_a_storm) {
    for (int i = 0; i < 20'000; ++i)
        acquire("r" + std::to_string(i), "alice", 10s);
    std::size_t before = 0;
    while (store.advance(start + 10s, 500)) {
        EXPECT_LE(expired.size() - before, 500U);
        before = expired.size();
    }
    EXPECT_EQ(expired.size(), 20'000U);
}

}  // namespace
}  // namespace holdfast::core
