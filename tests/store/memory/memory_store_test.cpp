#include "store/memory/memory_store.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "store/memory/memory_store_fixture.h"

namespace holdfast::store::memory {
namespace {

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
        EXPECT_EQ(state("r" + std::to_string(i), static_cast<lease::Token>(i) + 1), lease::LeaseState::expired);
        EXPECT_NE(acquire("r" + std::to_string(i), "bob"), 0U);
    }
    EXPECT_EQ(expired.size(), 100U) << "noticed by the requests";
    sweep(start + 11s);
    EXPECT_EQ(expired.size(), 100U) << "and told only once";
    EXPECT_TRUE(leases_of("alice").empty());
    EXPECT_EQ(leases_of("bob").size(), 100U);
}

TEST_F(MemoryStoreTest, moves_the_end_with_every_renewal) {
    const lease::Token token = acquire("a", "alice", 10s);
    for (int i = 1; i <= 20; ++i) {
        sweep(start + i * 7s);
        apply("a", [&](lease::Record& record, const lease::Neighbours&, Instant now) {
            EXPECT_TRUE(std::holds_alternative<lease::Renewed>(
                lease::renew(record, {token, "alice", "a", {}, {}}, lease::Policy{}, now)));
            return Effect::changed;
        });
    }
    sweep(start + 150s - 1ns);
    EXPECT_TRUE(expired.empty());
    sweep(start + 150s);
    EXPECT_EQ(expired.size(), 1U);
}

TEST_F(MemoryStoreTest, sees_the_end_of_a_second_lease_that_comes_before_the_first) {
    acquire("a", "alice", 60s, lease::Predicate::consumes);
    acquire("a", "bob", 2s, lease::Predicate::consumes);
    sweep(start + 2s);
    EXPECT_EQ(expired, std::vector<std::string>{"a#2"});
    sweep(start + 60s);
    EXPECT_EQ(expired, (std::vector<std::string>{"a#2", "a#1"}));
}

TEST_F(MemoryStoreTest, remembers_the_ended_for_five_minutes_and_then_nothing_at_all) {  // R3
    const lease::Token token = acquire("a", "alice");
    release("a", token, "alice");
    EXPECT_EQ(store.active_leases(), 0U);
    sweep(start + 5min - 1ns);
    EXPECT_EQ(state("a", token), lease::LeaseState::released);
    sweep(start + 5min);
    EXPECT_EQ(state("a", token), lease::LeaseState::unknown);
    std::size_t records = 0;
    store.for_each_record([&](std::string_view, const lease::Record&) { ++records; });
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
    EXPECT_EQ(state(name(0), 1), lease::LeaseState::unknown) << "the oldest is forgotten early";
    EXPECT_EQ(state(name(many - 1), many), lease::LeaseState::released);
}

TEST_F(MemoryStoreTest, tells_whose_turn_it_is_when_a_lease_runs_out) {  // G6
    acquire("a", "alice", 10s);
    for (std::uint64_t request = 1; request <= 3; ++request)
        wait("a", request);
    EXPECT_TRUE(due.empty());
    sweep(start + 10s);
    EXPECT_EQ(due, std::vector<std::string>{"a 1"}) << "one place, one wake-up";
}

TEST_F(MemoryStoreTest, lists_every_lease_once_page_by_page) {
    std::set<std::string> expected;
    for (int i = 0; i < 1000; ++i) {
        const std::string name = "r" + std::to_string(i);
        expected.insert(lease::to_string(lease::LeaseName{name, acquire(name, "alice")}));
        if (i % 10 == 0) expected.insert(lease::to_string(lease::LeaseName{name, acquire(name, "alice")}));
    }
    std::multiset<std::string> listed;
    ListQuery query;
    query.limit = 7;
    std::string after;
    do {
        const ListPage found = page(query);
        EXPECT_LE(found.leases.size(), 7U);
        for (const NamedLease& lease : found.leases)
            listed.insert(lease::to_string(lease::LeaseName{lease.resource, lease.lease.token}));
        after = found.next;
        query.after = after;
    } while (!after.empty());
    EXPECT_EQ(listed, std::multiset<std::string>(expected.begin(), expected.end()));
}

TEST_F(MemoryStoreTest, ends_a_page_of_large_leases_by_their_bytes) {
    std::set<std::string> expected;
    const std::string tail(4000, 'x');
    for (int i = 0; i < 200; ++i) {
        const std::string name = "r" + std::to_string(i) + tail;
        expected.insert(lease::to_string(lease::LeaseName{name, acquire(name, "alice")}));
    }
    const std::string shared = "shared" + tail;  // larger by itself than a page
    for (int i = 0; i < 200; ++i) {
        const std::string holder = "h" + std::to_string(i);
        expected.insert(
            lease::to_string(lease::LeaseName{shared, acquire(shared, holder, 60s, lease::Predicate::consumes)}));
    }
    for (const std::string_view holder : {"", "alice"}) {
        std::multiset<std::string> listed;
        ListQuery query;
        query.holder = holder;
        query.limit = 1000;
        std::string after;
        std::size_t pages = 0;
        do {
            const ListPage found = page(query);
            EXPECT_LE(found.leases.size(), 64U);
            for (const NamedLease& lease : found.leases)
                listed.insert(lease::to_string(lease::LeaseName{lease.resource, lease.lease.token}));
            after = found.next;
            query.after = after;
            ++pages;
        } while (!after.empty());
        EXPECT_GT(pages, 3U);
        EXPECT_EQ(listed.size(), holder.empty() ? 400U : 200U);
        EXPECT_TRUE(std::includes(expected.begin(), expected.end(), listed.begin(), listed.end()));
    }
}

TEST_F(MemoryStoreTest, refuses_an_after_that_is_not_its_own) {
    acquire("a", "alice");
    for (const char* after : {"x", "1.", ".1", "1.x", "0.1", "1.2.3"}) {
        std::optional<ErrorCode> refused;
        store.list({.name_space = "", .prefix = "", .holder = "", .limit = 10, .after = after},
                   [&](const Result<ListPage>& answer) {
                       if (!answer) refused = answer.error().code;
                   });
        EXPECT_EQ(refused, Code::invalid_argument) << after;
    }
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
    EXPECT_TRUE(page({.name_space = "", .prefix = "", .holder = "", .limit = 100, .after = "1152921504606846976"})
                    .leases.empty());
}

TEST_F(MemoryStoreTest, gives_back_after_a_restart_what_it_had) {  // S1
    const lease::Token kept = acquire("a", "alice", 30s);
    const lease::Token shared = acquire("b", "bob", 40s, lease::Predicate::consumes);
    acquire("b", "carol", 50s, lease::Predicate::consumes);
    const lease::Token ended = acquire("c", "dave");
    release("c", ended, "dave");
    std::map<std::string, lease::Record> saved;
    store.for_each_record(
        [&](std::string_view resource, const lease::Record& record) { saved.emplace(resource, record); });

    MemoryStore next{*this, {5, 6}};
    next.advance(start + 10s);
    for (const auto& [resource, record] : saved)
        next.restore(resource, record);
    EXPECT_EQ(next.active_leases(), 3U);
    std::map<std::string, lease::Record> restored;
    next.for_each_record(
        [&](std::string_view resource, const lease::Record& record) { restored.emplace(resource, record); });
    EXPECT_EQ(restored, saved);
    while (next.advance(start + 40s)) {
    }
    EXPECT_EQ(expired, (std::vector<std::string>{lease::to_string(lease::LeaseName{"a", kept}),
                                                 lease::to_string(lease::LeaseName{"b", shared})}));
}

TEST_F(MemoryStoreTest, keeps_what_an_agent_left_for_itself_until_its_grace_is_over) {  // R5
    const lease::Token token = acquire("a", "alice", 10s);
    declare_restart("a", "alice");
    wait("a", 1);
    sweep(start + 10s);
    EXPECT_EQ(expired, std::vector<std::string>{"a#1"});
    EXPECT_EQ(store.active_leases(), 0U);
    EXPECT_EQ(state("a", token), lease::LeaseState::grace);
    EXPECT_TRUE(due.empty()) << "nobody else has a turn yet";
    EXPECT_EQ(acquire("a", "bob"), 0U);
    EXPECT_LE(store.next_due(), start + 10s + lease::limits::grace);
    sweep(start + 10s + lease::limits::grace - 1ns);
    EXPECT_TRUE(due.empty());
    sweep(start + 10s + lease::limits::grace);
    EXPECT_EQ(due, std::vector<std::string>{"a 1"});
    EXPECT_EQ(state("a", token), lease::LeaseState::expired);
    leave("a", 1);
    EXPECT_NE(acquire("a", "bob"), 0U);
}

TEST_F(MemoryStoreTest, frees_what_was_reserved_on_time_even_if_the_sweep_has_not_come) {  // T2, R5
    acquire("a", "alice", 10s);
    declare_restart("a", "alice");
    store.advance(start + 10s + lease::limits::grace - 1ns, 0);
    EXPECT_EQ(acquire("a", "bob"), 0U);
    store.advance(start + 10s + lease::limits::grace, 0);
    EXPECT_NE(acquire("a", "bob"), 0U);
}

TEST_F(MemoryStoreTest, names_what_is_reserved_for_a_holder_to_who_asks_for_that) {
    const lease::Token gone = acquire("gone", "alice", 10s);
    const lease::Token kept = acquire("kept", "alice", 20s);
    acquire("plain", "alice", 10s);
    acquire("bobs", "bob", 10s);
    declare_restart("gone", "alice");
    declare_restart("kept", "alice");
    declare_restart("bobs", "bob");
    const auto both = Store::Which::active_or_reserved;
    const std::vector<std::string> reserved{lease::to_string(lease::LeaseName{"gone", gone}),
                                            lease::to_string(lease::LeaseName{"kept", kept})};
    const std::vector<std::string> active{lease::to_string(lease::LeaseName{"kept", kept})};
    EXPECT_EQ(leases_of("alice").size(), 3U);
    EXPECT_EQ(leases_of("alice", both).size(), 3U);
    store.advance(start + 10s, 0);  // nothing is swept
    EXPECT_EQ(leases_of("alice"), active);
    EXPECT_EQ(leases_of("alice", both), reserved);
    sweep(start + 10s);
    EXPECT_EQ(leases_of("alice"), active);
    EXPECT_EQ(leases_of("alice", both), reserved);
    EXPECT_EQ(leases_of("alice", both, 1).size(), 1U);
    sweep(start + 10s + lease::limits::grace);
    EXPECT_TRUE(leases_of("alice").empty());
    EXPECT_EQ(leases_of("alice", both), active);
    EXPECT_TRUE(leases_of("bob", both).empty());
}

TEST_F(MemoryStoreTest, gives_back_reservations_after_a_restart_and_no_waiters) {  // S1, R5
    const lease::Token token = acquire("a", "alice", 10s);
    declare_restart("a", "alice");
    wait("a", 1);
    sweep(start + 10s);
    lease::Record saved;
    store.for_each_record([&](std::string_view, const lease::Record& record) { saved = record; });
    ASSERT_EQ(saved.reserved.size(), 1U);

    MemoryStore next{*this, {5, 6}};
    next.advance(start + 12s);
    next.restore("a", saved);
    EXPECT_EQ(next.active_leases(), 0U);
    std::vector<lease::LeaseName> names;
    next.leases_of("alice", Store::Which::active_or_reserved, 10,
                   [&](const Result<std::vector<lease::LeaseName>>& found) { names = *found; });
    EXPECT_EQ(names, (std::vector<lease::LeaseName>{{"a", token}}));
    EXPECT_LE(next.next_due(), start + 10s + lease::limits::grace);
    while (next.advance(start + 10s + lease::limits::grace)) {
    }
    next.for_each_record([&](std::string_view, const lease::Record& record) { saved = record; });
    EXPECT_TRUE(saved.reserved.empty());
    EXPECT_TRUE(saved.waiters.empty());
    EXPECT_TRUE(due.empty());
}

TEST_F(MemoryStoreTest, forgets_what_a_change_made_of_a_record_and_did_not_want_written) {
    apply("a", [&](lease::Record& record, const lease::Neighbours&, Instant now) {
        record.leases.resize(1);
        record.ended.resize(1);
        record.waiters.resize(1);
        record.reserved.push_back({lease::Lease{}, now + 1h});
        record.past.push_back({"alice", now, 1h});
        return Effect::none;
    });
    for (const char* resource : {"a", "b"})
        apply(resource, [&](lease::Record& record, const lease::Neighbours&, Instant) {
            EXPECT_EQ(record, lease::Record{}) << resource;
            return Effect::none;
        });
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
}  // namespace holdfast::store::memory
