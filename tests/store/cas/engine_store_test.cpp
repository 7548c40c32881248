#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "authority/store_call.h"
#include "lease/rules.h"
#include "store/cas/asking.h"
#include "store/cas/request_number.h"
#include "store/cas/stored_record.h"

namespace holdfast::store::cas {
namespace {

/// What the engine keeps of a resource, its instants from when it was written.
StoredRecord value_of(SimFronts& fronts, const std::string& resource) {
    return *decode_stored(fronts.server.fetch(Kind::record, resource).value);
}
std::vector<lease::Lease> leases_of(SimFronts& fronts, const std::string& resource) {
    return value_of(fronts, resource).relative.record.leases;
}
EngineTime end_of(SimFronts& fronts, const std::string& resource) {
    const StoredRecord kept = value_of(fronts, resource);
    return kept.written_at + kept.relative.record.leases.at(0).expires_at.time_since_epoch();
}

/// The first swap goes like this, the others as they should.
void treat_first_swap(SimFronts& fronts, SimServer::Fate fate) {
    fronts.server.fate = [fate, first = true](const Swap&) mutable {
        return std::exchange(first, false) ? fate : SimServer::Fate::carried_out;
    };
}

TEST(EngineStore, takes_one_round_trip_to_grant_renew_and_release) {
    SimFronts fronts;
    const std::uint64_t calls = fronts.server.calls;
    const lease::Token token = acquired(fronts, 0, "r", {"alice"});
    EXPECT_TRUE(answered(fronts, ask_renew(fronts, 0, {"r", token}, "alice")).value_or(false));
    EXPECT_TRUE(answered(fronts, ask_release(fronts, 0, {"r", token}, "alice")).value_or(false));
    EXPECT_EQ(fronts.server.calls, calls + 3);
    EXPECT_EQ(fronts.store(0).counts().one_round, 3U);
}

TEST(EngineStore, says_which_holders_and_times_a_swap_replaces_whoever_wrote_them) {
    SimFronts fronts;
    const std::uint64_t checked = fronts.server.replacements;  // the server checks each
    const lease::Token alice = acquired(fronts, 0, "r", {"alice", 10s, lease::Predicate::consumes});
    const lease::Token bob = acquired(fronts, 1, "r", {"bob", 20s, lease::Predicate::consumes});
    EXPECT_TRUE(answered(fronts, ask_renew(fronts, 0, {"r", bob}, "bob")).value_or(false));
    EXPECT_TRUE(answered(fronts, ask_release(fronts, 1, {"r", alice}, "alice")).value_or(false));
    EXPECT_TRUE(answered(fronts, ask_release(fronts, 0, {"r", bob}, "bob")).value_or(false));
    EXPECT_EQ(fronts.server.replacements, checked + 4);
}

TEST(EngineStore, puts_updates_that_come_meanwhile_in_one_swap) {
    SimFronts fronts;
    std::vector<Promised<lease::Token>> asked;
    for (int i = 0; i < 100; ++i)
        asked.push_back(ask_acquire(fronts, 0, "r", {"h" + std::to_string(i), 10s, lease::Predicate::consumes}));
    for (const auto& one : asked)
        EXPECT_NE(answered(fronts, one).value_or(0), 0U);
    EXPECT_EQ(fronts.store(0).counts().swaps, 2U);
}

TEST(EngineStore, decides_what_changes_nothing_on_what_the_engine_shows) {
    SimFronts fronts;
    fronts.server.loses_notices = 100;
    const lease::Token token = acquired(fronts, 0, "r", {"alice"});
    EXPECT_TRUE(answered(fronts, ask_release(fronts, 1, {"r", token}, "alice")).value_or(false));
    EXPECT_EQ(answered(fronts, ask_state(fronts, 0, {"r", token})), lease::LeaseState::released)
        << "not what it remembers";
    EXPECT_NE(acquired(fronts, 0, "r", {"bob"}), 0U);
}

/// All pages of a listing by one front, each with its leases.
std::vector<std::vector<NamedLease>> pages_of(SimFronts& fronts, std::size_t front, ListQuery query) {
    std::vector<std::vector<NamedLease>> pages;
    std::string after;
    do {
        const auto later = std::make_shared<Later<ListPage>>();
        query.after = after;
        fronts.store(front).list(query, [later](const Result<ListPage>& page) { later->set(page); });
        const auto page = answered(fronts, later);
        if (!page) return {};
        pages.push_back(page->leases);
        after = page->next;
    } while (!after.empty() && pages.size() < 1000);
    return pages;
}

TEST(EngineStore, shows_when_a_lease_was_granted_as_the_front_that_granted_it_does) {
    SimFronts fronts;
    const lease::Token token = acquired(fronts, 0, "r", {"alice"});
    const std::int64_t dated = leases_of(fronts, "r").at(0).acquired_wall_ms;
    EXPECT_GE(dated, 1'000'000);
    fronts.pass(2s);
    EXPECT_TRUE(answered(fronts, ask_renew(fronts, 1, {"r", token}, "alice")).value_or(false));
    for (const std::size_t front : {std::size_t{0}, std::size_t{1}}) {
        const auto pages = pages_of(fronts, front, {});
        ASSERT_EQ(pages.size(), 1U);
        ASSERT_EQ(pages[0].size(), 1U);
        EXPECT_EQ(pages[0][0].lease.acquired_wall_ms, dated) << "front " << front;
    }
}

TEST(EngineStore, bounds_a_page_by_the_bytes_of_its_records) {
    SimFronts fronts;
    Ask large{"alice", 1h};
    large.metadata.assign(lease::limits::metadata_bytes, 'x');
    for (int i = 0; i < 80; ++i)
        ASSERT_NE(acquired(fronts, 0, "large/" + std::to_string(i), large), 0U);
    for (int i = 0; i < 90; ++i)
        ASSERT_NE(acquired(fronts, 0, "small/" + std::to_string(i), {"alice", 1h}), 0U);
    const auto pages = pages_of(fronts, 0, {{}, "large/", {}, 1000});
    std::set<std::string> names;
    for (const auto& page : pages) {
        EXPECT_LE(page.size(), 32U) << "at 8 kB each";
        for (const NamedLease& named : page)
            EXPECT_TRUE(names.insert(named.resource).second) << named.resource;
    }
    EXPECT_EQ(names.size(), 80U);
    std::size_t small = 0;
    for (const auto& page : pages_of(fronts, 0, {{}, "small/", {}, 1000}))
        small = std::max(small, page.size());
    EXPECT_EQ(small, 90U) << "small ones share a page";
}

TEST(EngineStore, takes_nothing_for_over_before_its_time_at_the_engine) {  // T2
    SimFronts fronts({.latency = 100ms});
    acquired(fronts, 0, "r", {"alice", 5s});
    const EngineTime end = end_of(fronts, "r");
    fronts.pass(end - fronts.server.now() - 30ms);  // by the front's estimate it may be over
    fronts.server.latency = 1ms;
    EXPECT_EQ(acquired(fronts, 0, "r", {"bob"}), 0U);
    EXPECT_LT(fronts.server.now(), end);
    EXPECT_EQ(leases_of(fronts, "r").at(0).holder, "alice");
}

TEST(EngineStore, renews_nothing_that_is_over_when_it_arrives) {  // T2
    SimFronts fronts;
    const lease::Token token = acquired(fronts, 0, "r", {"alice", 5s});
    const EngineTime end = end_of(fronts, "r");
    fronts.pass(end - fronts.server.now() - 30ms);
    fronts.server.latency = 100ms;
    EXPECT_EQ(answered(fronts, ask_renew(fronts, 0, {"r", token}, "alice")), false);
}

TEST(EngineStore, lets_a_lease_last_as_long_as_its_holder_counts) {  // T3
    SimFronts fronts({.latency = 100ms});
    const EngineTime sent = fronts.server.now();
    const auto asked = ask_acquire(fronts, 0, "r", {"alice", 5s});
    ASSERT_NE(answered(fronts, asked).value_or(0), 0U);
    EXPECT_EQ(fronts.store(0).counts().one_round, 1U);
    EXPECT_GE(end_of(fronts, "r"), sent + 5s);
    EXPECT_LT(end_of(fronts, "r"), sent + 5s + 300ms);
}

TEST(EngineStore, does_not_take_for_deleted_what_it_took_out_itself_by_a_swap_that_was_not_answered) {
    SimFronts fronts;
    const lease::Token token = acquired(fronts, 0, "r", {"alice", 60s});
    ASSERT_NE(token, 0U);
    treat_first_swap(fronts, SimServer::Fate::answer_lost);
    std::optional<Result<bool>> done;
    authority::apply_rule(
        fronts.store(0), "r",
        [token](lease::Record& record, Instant) {
            lease::roll_back(record, token);
            return authority::Ruling<bool>{true, Effect::freed};
        },
        [&](Result<bool> outcome) { done = std::move(outcome); });
    ASSERT_TRUE(fronts.run_until([&] { return done.has_value(); }, 1min));
    EXPECT_TRUE(*done);
    EXPECT_TRUE(fronts.vanished().empty());
}

TEST(EngineStore, says_in_the_engines_own_words_why_it_writes_nothing_and_does_not_ask_all_the_time) {
    SimFronts fronts;
    fronts.server.swaps_fail = Error{Code::store_unavailable, "the disk is full"};
    const std::uint64_t calls = fronts.server.calls;
    const auto asked = ask_acquire(fronts, 0, "r", {"alice"});
    fronts.run_until([&] { return asked->done; }, 1min);
    EXPECT_FALSE(asked->value);
    EXPECT_NE(asked->error.find("the disk is full"), std::string::npos) << asked->error;
    EXPECT_LT(fronts.server.calls - calls, 400U);
}

TEST(EngineStore, finds_out_that_a_swap_took_effect_whose_answer_was_lost) {
    SimFronts fronts;
    treat_first_swap(fronts, SimServer::Fate::answer_lost);
    const lease::Token token = acquired(fronts, 0, "r", {"alice"});
    ASSERT_NE(token, 0U);
    const auto leases = leases_of(fronts, "r");
    ASSERT_EQ(leases.size(), 1U) << "and not once more";
    EXPECT_EQ(leases[0].token, token);
    EXPECT_EQ(fronts.store(0).counts().swaps, 1U);
}

TEST(EngineStore, applies_again_what_never_arrived) {
    SimFronts fronts;
    treat_first_swap(fronts, SimServer::Fate::request_lost);
    const lease::Token token = acquired(fronts, 0, "r", {"alice"});
    ASSERT_NE(token, 0U);
    const auto leases = leases_of(fronts, "r");
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(leases[0].token, token);
}

TEST(EngineStore, takes_out_what_a_lost_swap_granted_when_another_has_written_since) {
    SimFronts fronts;
    treat_first_swap(fronts, SimServer::Fate::answer_lost);
    const auto asked = ask_acquire(fronts, 0, "r", {"alice", 60s, lease::Predicate::consumes});
    fronts.pass(100ms);  // it is there, and its front does not know
    ASSERT_NE(acquired(fronts, 1, "r", {"bob", 60s, lease::Predicate::consumes}), 0U);
    const lease::Token token = answered(fronts, asked).value_or(0);
    ASSERT_NE(token, 0U);
    const auto leases = leases_of(fronts, "r");
    ASSERT_EQ(leases.size(), 2U) << "one of each";
    EXPECT_EQ(leases[1].token, token);
}

TEST(EngineStore, takes_out_what_took_effect_after_it_was_given_up) {
    SimFronts fronts({.give_up_after = 300ms});
    fronts.server.lingers = 2s;
    fronts.server.loses_answers = 100;
    treat_first_swap(fronts, SimServer::Fate::late);
    const auto asked = ask_acquire(fronts, 0, "r", {"alice", 1h});
    ASSERT_TRUE(fronts.run_until([&] { return asked->done; }, 10s));
    EXPECT_TRUE(asked->error.starts_with("store_unavailable")) << asked->error;
    fronts.server.loses_answers = 0;
    ASSERT_TRUE(fronts.run_until([&] { return !leases_of(fronts, "r").empty(); }, 10s)) << "nobody was told of it";
    EXPECT_TRUE(fronts.run_until([&] { return leases_of(fronts, "r").empty(); }, 10s));
}

TEST(EngineStore, takes_out_what_took_effect_after_it_was_given_up_soon_after_it_did) {
    SimFronts fronts({.give_up_after = 300ms});
    fronts.server.lingers = 5s;
    fronts.server.loses_answers = 100;
    treat_first_swap(fronts, SimServer::Fate::late);
    const auto asked = ask_acquire(fronts, 0, "r", {"alice", 1h});
    fronts.server.lingers = 60s;  // that one is sooner than it could be
    ASSERT_TRUE(fronts.run_until([&] { return asked->done; }, 10s));
    fronts.server.loses_answers = 0;
    ASSERT_TRUE(fronts.run_until([&] { return !leases_of(fronts, "r").empty(); }, 10s)) << "nobody was told of it";
    EXPECT_TRUE(fronts.run_until([&] { return leases_of(fronts, "r").empty(); }, 2s));
}

TEST(EngineStore, looks_no_longer_for_what_cannot_take_effect_any_more) {
    SimFronts fronts({.fronts = 1, .give_up_after = 300ms});
    fronts.server.lingers = 5s;
    fronts.server.loses_answers = 100;
    treat_first_swap(fronts, SimServer::Fate::request_lost);
    const auto asked = ask_acquire(fronts, 0, "r", {"alice", 1h});
    ASSERT_TRUE(fronts.run_until([&] { return asked->done; }, 10s));
    fronts.server.loses_answers = 0;
    const std::uint64_t before = fronts.store(0).counts().fetches;
    fronts.pass(10s);
    const std::uint64_t after = fronts.store(0).counts().fetches;
    EXPECT_GT(after, before);
    fronts.pass(1min);
    EXPECT_EQ(fronts.store(0).counts().fetches, after);
}

TEST(EngineStore, lets_at_most_one_of_two_have_what_overlaps) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SimFronts fronts({.seed = seed});
        fronts.server.jitter = 2ms;
        const auto tree = ask_acquire(fronts, 0, "FILE:/a/**", {"alice"});
        const auto file = ask_acquire(fronts, 1, "FILE:/a/b", {"bob"});
        const auto one = answered(fronts, tree), other = answered(fronts, file);
        ASSERT_TRUE(one && other);
        EXPECT_NE(*one != 0, *other != 0) << "seed " << seed;
        EXPECT_EQ(leases_of(fronts, "FILE:/a/**").size() + leases_of(fronts, "FILE:/a/b").size(), 1U);
    }
}

TEST(EngineStore, wakes_who_waits_elsewhere_at_once) {  // G6
    SimFronts fronts;
    const std::uint64_t request = first_request_of(fronts.number(1));
    const struct {
        std::string held, waited_for;
    } cases[] = {
        {"r", "r"}, {"FILE:/a/b", "FILE:/a/**"}, {"FILE:/c/**", "FILE:/c/d/e"}, {"@n/FILE:/e/f/**", "@n/FILE:/**"}};
    for (const auto& one : cases) {
        const lease::Token token = acquired(fronts, 0, one.held, {"alice", 60s});
        ASSERT_TRUE(answered(fronts, ask_wait(fronts, 1, one.waited_for, request, "bob")).value_or(false));
        fronts.pass(2s);
        EXPECT_EQ(fronts.told(1).due.size(), 0U) << one.held;
        ASSERT_TRUE(answered(fronts, ask_release(fronts, 0, {one.held, token}, "alice")).value_or(false));
        EXPECT_TRUE(fronts.run_until([&] { return !fronts.told(1).due.empty(); }, 20ms)) << one.waited_for;
        fronts.pass(1ms);
        answered(fronts, apply_at(fronts, 1, one.waited_for, [=](lease::Record& record, Instant) {
                     lease::dequeue(record, request);
                     return authority::Ruling<bool>{true, Effect::freed};
                 }));
        fronts.pass(3s);
        fronts.told(1).due.clear();
    }
}

TEST(EngineStore, does_not_keep_the_places_of_waiters_whose_front_died) {  // G6
    SimFronts fronts;
    const lease::Token token = acquired(fronts, 1, "r", {"alice", 300s});
    ASSERT_TRUE(answered(fronts, ask_wait(fronts, 0, "r", first_request_of(fronts.number(0)), "bob")).value_or(false));
    fronts.pass(30s);
    EXPECT_EQ(value_of(fronts, "r").relative.record.waiters.size(), 1U) << "while it lives, they wait";
    fronts.kill(0);
    EXPECT_TRUE(answered(fronts, ask_release(fronts, 1, {"r", token}, "alice")).value_or(false));
    fronts.pass(11s);
    EXPECT_NE(acquired(fronts, 1, "r", {"carol"}), 0U);
}

TEST(EngineStore, forgets_a_waiter_that_could_not_be_taken_out) {
    SimFronts fronts;
    const std::uint64_t request = first_request_of(fronts.number(0));
    acquired(fronts, 1, "r", {"alice", 300s});
    ASSERT_TRUE(answered(fronts, ask_wait(fronts, 0, "r", request, "bob")).value_or(false));
    fronts.server.set_reachable(false);
    const auto leaves = apply_at(fronts, 0, "r", [=](lease::Record& record, Instant) {
        lease::dequeue(record, request);
        return authority::Ruling<bool>{true, Effect::freed};
    });
    EXPECT_TRUE(leaves->done && !leaves->value);
    fronts.server.set_reachable(true);
    fronts.pass(15s);
    const auto record = answered(fronts, ask_record(fronts, 1, "r"));
    ASSERT_TRUE(record);
    EXPECT_EQ(record->waiters.size(), 0U);
}

TEST(EngineStore, is_not_deceived_by_a_record_that_was_made_again) {
    SimFronts fronts;
    fronts.server.loses_notices = 100;
    acquired(fronts, 0, "r", {"alice", 5s});
    answered(fronts, ask_record(fronts, 1, "r"));  // now the other remembers it
    fronts.kill(0);
    fronts.server.restart(false);
    fronts.start(0);
    fronts.pass(100ms);
    ASSERT_NE(acquired(fronts, 0, "r", {"bob", 60s}), 0U) << "the first write of another life";
    fronts.pass(5s);
    EXPECT_EQ(acquired(fronts, 1, "r", {"carol"}), 0U) << "what it remembers is over, but not what is there";
}

TEST(EngineStore, notices_that_the_engines_clock_stepped_ahead) {
    SimFronts fronts;
    acquired(fronts, 0, "r", {"alice", 60s});
    fronts.server.clock.ahead += 10min;
    const auto asked = ask_acquire(fronts, 0, "r", {"bob"});
    ASSERT_TRUE(fronts.run_until([&] { return asked->done; }, 10s));
    EXPECT_EQ(asked->value, std::nullopt) << "alice counts on it";
    EXPECT_EQ(fronts.clock_steps(0), 1U);
    fronts.pass(5s);
    EXPECT_EQ(fronts.clock_steps(1), 1U) << "also where nothing is asked for";
    EXPECT_NE(acquired(fronts, 0, "r", {"bob"}), 0U) << "what follows from it is for others to say";
}

TEST(EngineStore, fails_at_once_while_the_engine_cannot_be_reached) {
    SimFronts fronts;
    fronts.server.set_reachable(false);
    const auto asked = ask_acquire(fronts, 0, "r", {"alice"});
    EXPECT_TRUE(asked->done);
    EXPECT_EQ(asked->error, "store_unavailable: the store is not available: the simulated engine is away");
    fronts.server.set_reachable(true);
    EXPECT_NE(acquired(fronts, 0, "r", {"alice"}), 0U);
}

TEST(EngineStore, grants_nothing_on_what_is_no_record) {
    SimFronts fronts;
    fronts.server.things[Kind::record]["r"] = {
        {77, fronts.server.now(), "\xff\xff rubbish"}, EngineTime::max(), EngineTime::max(), {}};
    const auto asked = ask_acquire(fronts, 0, "r", {"alice"});
    ASSERT_TRUE(fronts.run_until([&] { return asked->done; }, 10s));
    EXPECT_TRUE(asked->error.starts_with("store_unavailable")) << asked->error;
    EXPECT_NE(asked->error.find("`r`"), std::string::npos) << asked->error;
}

TEST(EngineStore, gives_no_token_while_it_may_not) {  // G3
    SimFronts fronts;
    const Ask alice{"alice", 10s, lease::Predicate::mutates, "one"};
    const lease::Token held = acquired(fronts, 0, "r", alice);
    fronts.may_give_tokens = false;
    const auto renewal = ask_renew(fronts, 0, {"r", held}, "alice");  // in one batch with what follows
    const auto other = ask_renew(fronts, 0, {"r", held}, "alice");
    const auto asked = ask_acquire(fronts, 0, "r", alice);
    ASSERT_TRUE(fronts.run_until([&] { return asked->done && renewal->done && other->done; }, 10s));
    EXPECT_TRUE(asked->error.starts_with("store_unavailable")) << asked->error;
    EXPECT_EQ(renewal->value, true);
    EXPECT_EQ(other->value, true);
}

TEST(EngineStore, gives_tokens_above_all_that_it_is_told_of) {  // G3
    SimFronts fronts;
    fronts.last_token = 500;
    EXPECT_EQ(acquired(fronts, 0, "r", {"alice"}), 501U);
    EXPECT_EQ(fronts.last_token, 501U);
    EXPECT_EQ(value_of(fronts, "r").relative.record.last_token, 501U);
    fronts.last_token = 900;
    EXPECT_TRUE(answered(fronts, ask_renew(fronts, 0, {"r", 501}, "alice")).value_or(false));
    EXPECT_EQ(value_of(fronts, "r").relative.record.last_token, 501U) << "a renewal gives none";
}

TEST(EngineStore, writes_down_what_ran_out_within_milliseconds) {  // T5
    SimFronts fronts;
    acquired(fronts, 0, "r", {"alice", 5s});
    const EngineTime end = end_of(fronts, "r");
    ASSERT_TRUE(fronts.run_until([&] { return !fronts.told(1).expired.empty(); }, 10s));
    EXPECT_LT(fronts.server.now() - end, Duration{20ms});
    EXPECT_EQ(fronts.told(0).expired, fronts.told(1).expired);
    EXPECT_EQ(leases_of(fronts, "r").size(), 0U);
    fronts.pass(5min);
    EXPECT_EQ(fronts.server.fetch(Kind::record, "r").value.write, 0U) << "and forgets it when nobody may ask any more";
}

TEST(EngineStore, tells_others_of_renewals_only_where_somebody_follows_them) {
    SimFronts fronts;
    const lease::Token plain = acquired(fronts, 0, "r", {"alice"});
    const lease::Token service = acquired(fronts, 0, "@~services/s", {"alice"});
    fronts.pass(100ms);
    EXPECT_TRUE(answered(fronts, ask_renew(fronts, 0, {"r", plain}, "alice")).value_or(false));
    EXPECT_TRUE(answered(fronts, ask_renew(fronts, 0, {"@~services/s", service}, "alice")).value_or(false));
    fronts.pass(100ms);
    EXPECT_EQ(fronts.told(0).renewed.size(), 2U);
    EXPECT_EQ(fronts.told(1).renewed,
              (std::vector<std::string>{lease::to_string(lease::LeaseName{"@~services/s", service})}));
    EXPECT_EQ(fronts.told(1).granted.size(), 2U);
}

TEST(EngineStore, counts_the_leases_that_it_wrote_last) {
    SimFronts fronts;
    const lease::Token token = acquired(fronts, 0, "a", {"alice", 60s});
    acquired(fronts, 0, "b", {"alice", 2s});
    EXPECT_EQ(fronts.store(0).active_leases(), 2U);
    EXPECT_EQ(fronts.store(1).active_leases(), 0U);
    EXPECT_TRUE(answered(fronts, ask_renew(fronts, 1, {"a", token}, "alice")).value_or(false));
    fronts.pass(3s);
    EXPECT_EQ(fronts.store(1).active_leases(), 1U);
    EXPECT_EQ(answered(fronts, ask_state(fronts, 0, {"a", token})), lease::LeaseState::active);
    EXPECT_EQ(fronts.store(0).active_leases(), 0U);
}

TEST(EngineStore, answers_everything_when_it_stops) {
    SimFronts fronts;
    const auto asked = ask_acquire(fronts, 0, "r", {"alice"});
    const auto waiting = ask_acquire(fronts, 0, "r", {"bob"});
    fronts.store(0).stop();
    EXPECT_TRUE(asked->done && waiting->done);
    const auto later = ask_acquire(fronts, 0, "r", {"carol"});
    EXPECT_TRUE(later->error.starts_with("store_unavailable")) << later->error;
}

}  // namespace
}  // namespace holdfast::store::cas
