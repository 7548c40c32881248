#include <algorithm>

#include "store/contract/contract.h"

namespace holdfast::store::contract {
namespace {

using Lines = std::vector<std::string>;

TEST_P(StoreContract, grants_renews_verifies_and_releases) {
    HOLDFAST_SET_UP({});
    const lease::Token token = acquire(0, "r", {"alice"});
    ASSERT_NE(token, 0U);
    EXPECT_EQ(acquire(0, "r", {"bob"}), 0U) << "somebody is in the way";
    EXPECT_TRUE(renew(0, {"r", token}, "alice"));
    EXPECT_FALSE(renew(0, {"r", token}, "bob"));
    EXPECT_FALSE(renew(0, {"r", token + 1}, "alice"));
    EXPECT_EQ(state(0, {"r", token}), lease::LeaseState::active);
    EXPECT_FALSE(release(0, {"r", token}, "bob"));
    EXPECT_TRUE(release(0, {"r", token}, "alice"));
    EXPECT_FALSE(release(0, {"r", token}, "alice")) << "it has ended already";
    EXPECT_EQ(state(0, {"r", token}), lease::LeaseState::released) << "R3: it stays answerable";
    EXPECT_EQ(state(0, {"never", token}), lease::LeaseState::unknown);
}

TEST_P(StoreContract, keeps_all_that_a_lease_carries) {
    HOLDFAST_SET_UP({});
    const std::string metadata = "{\"bytes\":\"" + std::string(8000, 'x') + "\"}";
    const std::string name = "@team/odd name \xc3\xa9 'quoted' \"twice\" %s \\ {}*?[";
    const lease::Token token =
        acquire(0, name, {"holder with blanks", 50s, lease::Predicate::provides, "session", 0, 0, metadata});
    ASSERT_NE(token, 0U);
    const auto verified = answer(ask_state(0, {name, token}));
    ASSERT_TRUE(verified && verified->lease);
    EXPECT_EQ(verified->lease->holder, "holder with blanks");
    EXPECT_EQ(verified->lease->session, "session");
    EXPECT_EQ(verified->lease->metadata, metadata);
    EXPECT_EQ(verified->lease->predicate, lease::Predicate::provides);
    EXPECT_EQ(verified->lease->ttl, 50s);
}

TEST_P(StoreContract, ends_a_lease_when_its_time_has_passed_and_not_before) {  // T2, T3
    HOLDFAST_SET_UP({});
    const Duration sent = tested->elapsed();
    const lease::Token first = acquire(0, "r", {"alice", 2s});
    ASSERT_NE(first, 0U);
    lease::Token second = 0;
    ASSERT_TRUE(until([&] { return (second = acquire(0, "r", {"bob", 2s})) != 0; }, 30s));
    EXPECT_GE(tested->elapsed(), sent + 2s) << "its holder counts from when it sent its request";
    EXPECT_FALSE(renew(0, {"r", first}, "alice"));
    EXPECT_EQ(state(0, {"r", first}), lease::LeaseState::expired);
    EXPECT_TRUE(until([&] {
        return Told::has(tested->told(0).expired, to_string(lease::LeaseName{"r", first}));
    })) << "T5";
    pass(100ms);
    EXPECT_EQ(Told::count(tested->told(0).expired, to_string(lease::LeaseName{"r", first})), 1U) << "once";
}

TEST_P(StoreContract, tells_of_what_runs_out_without_being_asked) {  // T5
    HOLDFAST_SET_UP({});
    Lines names;
    for (int i = 0; i < 20; ++i) {
        const std::string resource = "r" + std::to_string(i);
        names.push_back(to_string(lease::LeaseName{resource, acquire(0, resource, {"alice", 1s})}));
    }
    EXPECT_TRUE(until([&] {
        return std::all_of(names.begin(), names.end(),
                           [&](const std::string& name) { return Told::has(tested->told(0).expired, name); });
    }));
    EXPECT_EQ(tested->told(0).expired.size(), names.size());
}

TEST_P(StoreContract, lets_tokens_rise) {  // G3
    HOLDFAST_SET_UP({});
    lease::Token last = 0;
    for (int i = 0; i < 10; ++i) {
        const lease::Token token = acquire(0, "r", {"alice"});
        EXPECT_GT(token, last);
        last = token;
        ASSERT_TRUE(release(0, {"r", token}, "alice"));
    }
    EXPECT_GT(acquire(0, "r", {"alice", 60s, lease::Predicate::mutates, {}, 0, 1}), last)
        << "also if a low one is offered";
}

TEST_P(StoreContract, remembers_how_long_a_holder_had_what_it_let_go) {  // R6
    HOLDFAST_SET_UP({});
    const auto take = [this](Duration held_before) {
        return answer(
            apply(0, "r", [held_before](lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
                lease::Claim claim;
                claim.holder = "alice";
                claim.ttl = 60s;
                claim.hold_max = 4h;
                std::optional<lease::Lease> granted;
                if (std::holds_alternative<lease::Granted>(lease::acquire(record, neighbours, claim, now))) {
                    record.leases.back().held_since -= held_before;
                    granted = record.leases.back();
                }
                return authority::Ruling{std::move(granted), Effect::changed};
            }));
    };
    const auto first = take(2h);
    ASSERT_TRUE(first && *first);
    ASSERT_TRUE(release(0, {"r", (*first)->token}, "alice"));
    const auto second = take(Duration::zero());
    ASSERT_TRUE(second && *second);
    EXPECT_GT((*second)->acquired_at - (*second)->held_since, Duration{1h});
}

TEST_P(StoreContract, answers_a_thousand_updates_at_once) {
    HOLDFAST_SET_UP({});
    std::vector<Promised<lease::Token>> asked;
    for (int i = 0; i < 1000; ++i)
        asked.push_back(ask(0, "r" + std::to_string(i), {"alice"}));
    std::vector<Promised<bool>> renewals;
    for (int i = 0; i < 1000; ++i) {
        const auto token = answer(asked[static_cast<std::size_t>(i)], 60s);
        ASSERT_TRUE(token && *token != 0) << i;
        renewals.push_back(ask_renew(0, {"r" + std::to_string(i), *token}, "alice"));
    }
    for (const auto& renewal : renewals)
        ASSERT_TRUE(answer(renewal, 60s).value_or(false));
    EXPECT_EQ(leases_of(0, "alice").size(), 1000U);
}

TEST_P(StoreContract, applies_a_thousand_updates_of_one_record_in_order) {
    HOLDFAST_SET_UP({});
    std::vector<Promised<lease::Token>> asked;
    for (int i = 0; i < 1000; ++i)
        asked.push_back(ask(0, "r", {"h" + std::to_string(i), 60s, lease::Predicate::consumes}));
    lease::Token last = 0;
    for (const auto& one : asked) {
        const auto token = answer(one, 60s);
        ASSERT_TRUE(token);
        EXPECT_GT(*token, last);
        last = *token;
    }
    EXPECT_EQ(leases_of(0, "h500").size(), 1U);
}

TEST_P(StoreContract, lists_what_is_active) {
    HOLDFAST_SET_UP({});
    Lines all, of_alice, of_team;
    for (int i = 0; i < 250; ++i) {
        const bool team = i % 5 == 0, alice = i % 2 == 0;
        const std::string resource = (team ? "@team/job/" : "job/") + std::to_string(i);
        const lease::LeaseName name{resource, acquire(0, resource, {alice ? "alice" : "bob"})};
        ASSERT_NE(name.token, 0U);
        all.push_back(to_string(name));
        if (alice) of_alice.push_back(to_string(name));
        if (team) of_team.push_back(to_string(name));
    }
    const lease::LeaseName gone{"job/gone", acquire(0, "job/gone", {"alice"})};
    release(0, gone, "alice");
    acquire(0, "other", {"carol"});
    const auto sorted = [](Lines lines) {
        std::sort(lines.begin(), lines.end());
        return lines;
    };
    EXPECT_EQ(list_all(0, {.prefix = "job/", .limit = 40}), sorted(all));
    EXPECT_EQ(list_all(0, {.holder = "alice", .limit = 40}), sorted(of_alice));
    EXPECT_EQ(list_all(0, {.name_space = "team", .limit = 7}), sorted(of_team));
    EXPECT_EQ(list_all(0, {.name_space = "team", .prefix = "job/100"}).size(), 1U);
    EXPECT_EQ(list_all(0, {.name_space = "nobody"}), Lines{});
    EXPECT_EQ(leases_of(0, "alice"), sorted(of_alice));
    EXPECT_EQ(leases_of(0, "nobody"), Lines{});
}

TEST_P(StoreContract, shows_nothing_that_has_ended) {
    HOLDFAST_SET_UP({});
    acquire(0, "r", {"alice", 1s});
    EXPECT_EQ(leases_of(0, "alice").size(), 1U);
    EXPECT_TRUE(until([&] { return leases_of(0, "alice").empty(); }));
    EXPECT_EQ(list_all(0, {}), Lines{});
}

TEST_P(StoreContract, keeps_what_an_agent_that_restarts_left_for_it) {  // R5
    HOLDFAST_SET_UP({});
    const lease::Token token = acquire(0, "r", {"agent", 1s});
    const auto declared = apply(0, "r", [](lease::Record& record, Instant now) -> authority::Ruling<std::size_t> {
        return {lease::declare_restart(record, "agent", now), Effect::changed};
    });
    EXPECT_EQ(answer(declared), std::size_t{1});
    EXPECT_TRUE(until([&] { return state(0, {"r", token}) == lease::LeaseState::grace; }));
    EXPECT_EQ(acquire(0, "r", {"bob"}), 0U);
    EXPECT_GT(acquire(0, "r", {"agent"}), token);
}

TEST_P(StoreContract, keeps_a_tree_from_who_holds_a_file_in_it) {
    HOLDFAST_SET_UP({});
    const Ask alice{"alice", 60s, lease::Predicate::mutates, "one"};
    const lease::Token file = acquire(0, "FILE:/a/b", alice);
    ASSERT_NE(file, 0U);
    EXPECT_EQ(acquire(0, "FILE:/a/**", {"bob"}), 0U);
    EXPECT_NE(acquire(0, "FILE:/a/**", alice), 0U) << "nobody is in its own way";
    EXPECT_NE(acquire(0, "FILE:/c/**", {"bob"}), 0U);
    EXPECT_EQ(acquire(0, "FILE:/a/d/e", {"bob"}), 0U);
    EXPECT_EQ(acquire(0, "FILE:/**", {"bob"}), 0U);
    EXPECT_NE(acquire(0, "@team/FILE:/a/b", {"bob"}), 0U) << "another namespace, another file";
    EXPECT_TRUE(renew(0, {"FILE:/a/b", file}, "alice"));
}

TEST_P(StoreContract, wakes_who_waits_for_a_lease_that_is_released) {  // G6
    HOLDFAST_SET_UP({});
    const std::uint64_t first = tested->first_request(0), second = first + 1;
    const lease::Token token = acquire(0, "r", {"alice"});
    ASSERT_TRUE(answer(ask_wait(0, "r", first, "bob")).value_or(false));
    ASSERT_TRUE(answer(ask_wait(0, "r", second, "carol")).value_or(false));
    EXPECT_TRUE(release(0, {"r", token}, "alice"));
    EXPECT_TRUE(until([&] { return Told::has(tested->told(0).due, "r " + std::to_string(first)); }));
    EXPECT_FALSE(Told::has(tested->told(0).due, "r " + std::to_string(second))) << "one freed place, one wake-up";
    EXPECT_EQ(acquire(0, "r", {"mallory"}), 0U) << "whoever waits is served first";
    EXPECT_NE(acquire(0, "r", {"bob", 1s, lease::Predicate::mutates, {}, first}), 0U);
    EXPECT_TRUE(until([&] { return Told::has(tested->told(0).due, "r " + std::to_string(second)); }))
        << "also when a lease runs out";
}

}  // namespace
}  // namespace holdfast::store::contract
