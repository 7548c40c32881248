#include "lease/rules.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

constexpr Instant start{1000s};

/// A record and the requests on it, as short as they can be said.
class Rules : public ::testing::Test {
 protected:
    Token grant(std::string_view holder, Predicate predicate = Predicate::mutates, Instant now = start) {
        const auto verdict = ask(holder, predicate, now);
        return std::holds_alternative<Granted>(verdict) ? std::get<Granted>(verdict).lease->token : 0;
    }
    AcquireVerdict ask(std::string_view holder, Predicate predicate, Instant now, std::string_view session = "") {
        Claim claim = claim_of(holder, predicate);
        claim.session = session;
        return acquire(record, NoNeighbours{}, claim, now);
    }
    /// A plain claim, younger than all before it.
    Claim claim_of(std::string_view holder, Predicate predicate = Predicate::mutates) {
        Claim claim;
        claim.holder = holder;
        claim.reason = "why";
        claim.predicate = predicate;
        claim.ttl = 60s;
        claim.token = ++next_token;
        claim.priority = 1;
        claim.request = next_token + 1000;
        return claim;
    }
    Code renewal_refused(Token token, std::string_view holder, Instant now) {
        const auto verdict = renew(record, {token, holder, "r", {}, {}}, policy, now);
        return std::holds_alternative<Rejected>(verdict) ? std::get<Rejected>(verdict).code : Code::storage_failed;
    }

    Record record;
    Policy policy;
    Token next_token = 0;
};

TEST_F(Rules, grant_a_free_resource_until_its_ttl_has_passed) {
    const auto verdict = ask("alice", Predicate::mutates, start);
    const Lease& lease = *std::get<Granted>(verdict).lease;
    EXPECT_EQ(lease.holder, "alice");
    EXPECT_EQ(lease.acquired_at, start);
    EXPECT_EQ(lease.expires_at, start + 60s);
    EXPECT_EQ(record.leases.size(), 1U);
}

TEST_F(Rules, refuse_a_conflicting_claim_and_name_everyone_in_the_way) {
    grant("alice", Predicate::consumes);
    grant("bob", Predicate::depends_on, start + 1s);
    const auto verdict = ask("carol", Predicate::mutates, start + 2s);
    const auto& conflicts = std::get<Busy>(verdict).standing.conflicts;
    ASSERT_EQ(conflicts.size(), 2U);
    EXPECT_EQ(conflicts[0], (Conflict{Predicate::consumes, 1, false, "", "alice", "why", 58s}));
    EXPECT_EQ(conflicts[1], (Conflict{Predicate::depends_on, 2, false, "", "bob", "why", 59s}));
}

TEST_F(Rules, let_go_at_the_very_instant_of_expiry_and_not_before) {  // T2
    grant("alice");
    EXPECT_EQ(grant("bob", Predicate::mutates, start + 60s - 1ns), 0U);
    EXPECT_NE(grant("bob", Predicate::mutates, start + 60s), 0U);
}

TEST_F(Rules, never_set_a_holder_against_itself_in_one_session_but_do_in_two) {  // G2
    ask("alice", Predicate::mutates, start, "one");
    EXPECT_TRUE(std::holds_alternative<Granted>(ask("alice", Predicate::deletes, start, "one")));
    EXPECT_TRUE(std::holds_alternative<Busy>(ask("alice", Predicate::consumes, start, "two")));
}

TEST_F(Rules, set_a_holder_against_itself_where_it_names_no_session) {  // G2
    const Token first = grant("alice");
    EXPECT_NE(first, 0U);
    EXPECT_EQ(grant("alice"), 0U) << "two processes may call themselves alice";
    EXPECT_TRUE(std::holds_alternative<Busy>(ask("alice", Predicate::mutates, start, "one")));
    record.leases.clear();
    ask("alice", Predicate::mutates, start, "one");
    EXPECT_EQ(grant("alice"), 0U) << "and who names none is not in the one that another names";
}

TEST_F(Rules, let_a_claim_without_a_session_pass_its_own_place_in_the_queue) {
    Claim claim = claim_of("alice");
    ASSERT_FALSE(enqueue(record, claim, start + 1h));
    claim.queued = true;
    EXPECT_TRUE(standing_of(record, NoNeighbours{}, claim, start).free());
    EXPECT_FALSE(standing_of(record, NoNeighbours{}, claim_of("alice"), start).free()) << "another request of alice";
}

TEST_F(Rules, let_a_claim_take_the_place_of_an_entry_which_is_then_gone) {  // G6
    Claim former = claim_of("alice");
    enqueue(record, former, start + 1h);
    Claim other = claim_of("bob");
    other.priority = 2;
    enqueue(record, other, start + 1h);
    Claim moved = claim_of("alice");
    moved.takes_over = former.request;
    enqueue(record, moved, start + 1h);
    ASSERT_EQ(record.waiters.size(), 2U);
    EXPECT_EQ(record.waiters.front().id, moved.request);
    record.absent = {record.waiters.front()};
    record.waiters.erase(record.waiters.begin());
    dequeue(record, moved.request);
    EXPECT_TRUE(record.absent.empty()) << "also the entry of a node that is gone";
}

TEST_F(Rules, let_what_a_holder_has_without_a_session_give_way_to_what_replaces_it) {
    grant("alice");
    Claim claim = claim_of("alice");
    claim.replaces_own = true;
    EXPECT_TRUE(standing_of(record, NoNeighbours{}, claim, start).free());
    record.leases.front().session = "one";
    EXPECT_FALSE(standing_of(record, NoNeighbours{}, claim, start).free());
}

TEST_F(Rules, give_each_grant_a_lease_of_its_own_that_ends_on_its_own) {  // G3
    const auto token_of = [](const AcquireVerdict& verdict) { return std::get<Granted>(verdict).lease->token; };
    const Token first = token_of(ask("alice", Predicate::mutates, start, "one"));
    const Token second = token_of(ask("alice", Predicate::mutates, start, "one"));
    EXPECT_GT(second, first);
    EXPECT_TRUE(std::holds_alternative<Released>(release(record, first, "alice", start)));
    EXPECT_NE(record.find(second), nullptr);
    EXPECT_EQ(grant("bob"), 0U) << "the second lease is still held";
}

TEST_F(Rules, bound_the_leases_on_one_record) {
    for (std::size_t i = 0; i < limits::leases_per_record; ++i)
        ASSERT_NE(grant("a", Predicate::consumes), 0U);
    EXPECT_EQ(std::get<Rejected>(ask("b", Predicate::consumes, start)).code, Code::too_many_leases);
}

TEST_F(Rules, name_a_bounded_number_of_those_in_the_way) {
    for (int i = 0; i < 300; ++i)
        grant("h" + std::to_string(i), Predicate::consumes);
    EXPECT_EQ(std::get<Busy>(ask("b", Predicate::mutates, start)).standing.conflicts.size(), limits::named_per_record);
    EXPECT_EQ(verify(record, 300, start).current.size(), limits::named_per_record);
    EXPECT_EQ(verify(record, 300, start).state, LeaseState::active);
}

TEST_F(Rules, take_a_grant_back_without_a_trace) {  // G1
    const Token token = grant("alice");
    roll_back(record, token);
    EXPECT_TRUE(record.empty());
}

TEST_F(Rules, renew_from_now_and_keep_the_token) {  // R1, G3
    const Token token = grant("alice");
    const auto verdict = renew(record, {token, "alice", "r", {}}, policy, start + 30s);
    const Lease& lease = *std::get<Renewed>(verdict).lease;
    EXPECT_EQ(lease.token, token);
    EXPECT_EQ(lease.acquired_at, start);
    EXPECT_EQ(lease.expires_at, start + 90s);
}

TEST_F(Rules, refuse_renewal_with_a_code_for_each_cause) {  // R1
    EXPECT_EQ(renewal_refused(99, "alice", start), Code::unknown_lease);
    const Token released = grant("alice");
    release(record, released, "alice", start);
    EXPECT_EQ(renewal_refused(released, "alice", start), Code::lease_released);
    const Token revoked = grant("alice");
    revoke(record, revoked, start);
    EXPECT_EQ(renewal_refused(revoked, "alice", start), Code::lease_revoked);
    const Token token = grant("alice");
    EXPECT_EQ(renewal_refused(token, "bob", start), Code::not_holder);
    EXPECT_EQ(renewal_refused(token, "alice", start + 60s), Code::lease_expired);
}

TEST_F(Rules, pass_every_renewal_through_the_policy) {  // R7
    const Token token = grant("alice");
    policy.bans["alice"] = {};
    EXPECT_EQ(renewal_refused(token, "alice", start), Code::banned);
    policy.bans.clear();
    policy.name_pattern = *NamePattern::compile("x.*");
    EXPECT_EQ(renewal_refused(token, "alice", start), Code::name_refused);
    policy.name_pattern = {};
    policy.ttl_min = 2min;
    policy.ttl_default = 2min;
    EXPECT_EQ(renewal_refused(token, "alice", start), Code::ttl_too_short);
}

TEST_F(Rules, cut_a_renewal_to_a_maximum_that_was_lowered_since) {
    const Token token = grant("alice");
    policy.ttl_max = 10s;
    const auto verdict = renew(record, {token, "alice", "r", {}}, policy, start + 55s);
    EXPECT_EQ(std::get<Renewed>(verdict).lease->expires_at, start + 65s);
    EXPECT_TRUE(std::get<Renewed>(verdict).cut_from);
}

TEST_F(Rules, refuse_a_renewal_that_cannot_be_as_long_as_who_is_not_told_believes) {
    const Token token = grant("alice");
    const auto exactly = [&](Duration ttl) {
        return renew(record, {.token = token, .holder = "alice", .resource = "r", .ttl = ttl, .exact = true}, policy,
                     start + 30s);
    };
    EXPECT_EQ(std::get<Rejected>(exactly(5min + 1ms)).code, Code::ttl_too_long);
    policy.hold_max = 100s;  // R6: 70 s are left
    EXPECT_EQ(std::get<Rejected>(exactly(71s)).code, Code::over_quota);
    EXPECT_EQ(record.leases[0].expires_at, start + 60s);
    EXPECT_EQ(std::get<Renewed>(exactly(70s)).lease->expires_at, start + 100s);
}

TEST_F(Rules, give_a_token_above_what_the_record_has_seen) {  // G3, Q8
    record.last_token = 500;
    EXPECT_EQ(grant("alice"), 501U);
    EXPECT_EQ(record.last_token, 501U);
}

TEST_F(Rules, never_bring_the_end_forward_for_the_answer_may_be_lost) {  // R1, T3
    const Token token = grant("alice");
    const auto verdict = renew(record, {token, "alice", "r", Duration{10s}}, policy, start);
    const Lease& lease = *std::get<Renewed>(verdict).lease;
    EXPECT_EQ(lease.expires_at, start + 60s);
    EXPECT_EQ(lease.ttl, 10s);
    EXPECT_EQ(timeline_of(lease, start).expires_in, 60s);
}

TEST_F(Rules, let_a_barred_lease_run_out_on_its_timeline) {  // R7
    const Token token = grant("alice");
    EXPECT_TRUE(std::holds_alternative<Lease>(bar(record, token, start)));
    EXPECT_EQ(renewal_refused(token, "alice", start + 1s), Code::renewal_barred);
    EXPECT_EQ(grant("bob", Predicate::mutates, start + 59s), 0U);
    EXPECT_NE(grant("bob", Predicate::mutates, start + 60s), 0U);
}

TEST_F(Rules, release_once_and_say_so_ever_after) {  // R2
    const Token token = grant("alice");
    EXPECT_EQ(std::get<Rejected>(release(record, token, "bob", start)).code, Code::not_holder);
    EXPECT_TRUE(std::holds_alternative<Released>(release(record, token, "alice", start)));
    EXPECT_EQ(std::get<AlreadyEnded>(release(record, token, "alice", start)).state, LeaseState::released);
    EXPECT_EQ(std::get<AlreadyEnded>(release(record, 77, "alice", start)).state, LeaseState::unknown);
}

TEST_F(Rules, never_let_a_stale_release_end_a_newer_lease) {  // R2
    const Token old = grant("alice");
    const Token fresh = grant("alice", Predicate::mutates, start + 60s);
    ASSERT_NE(fresh, 0U);
    EXPECT_EQ(std::get<AlreadyEnded>(release(record, old, "alice", start + 61s)).state, LeaseState::expired);
    EXPECT_NE(record.find(fresh), nullptr);
}

TEST_F(Rules, revoke_at_once) {  // R7
    const Token token = grant("alice");
    EXPECT_TRUE(std::holds_alternative<Lease>(revoke(record, token, start)));
    EXPECT_NE(grant("bob"), 0U);
    EXPECT_EQ(std::get<Rejected>(revoke(record, token, start)).code, Code::lease_revoked);
    EXPECT_EQ(std::get<Rejected>(bar(record, token, start)).code, Code::lease_revoked);
}

TEST_F(Rules, verify_the_true_state_whatever_the_caller_believes) {  // R3
    const Token token = grant("alice");
    EXPECT_EQ(verify(record, token, start).state, LeaseState::active);
    EXPECT_EQ(verify(record, token, start + 60s).state, LeaseState::expired) << "swept or not (T2)";
    EXPECT_TRUE(verify(record, token, start + 60s).current.empty());
    const Token fresh = grant("bob", Predicate::mutates, start + 60s);
    const Verified verified = verify(record, token, start + 61s);
    EXPECT_EQ(verified.state, LeaseState::expired);
    EXPECT_EQ(verified.ended_ago, Duration{1s});
    ASSERT_EQ(verified.current.size(), 1U);
    EXPECT_EQ(verified.current[0].token, fresh);
    EXPECT_EQ(verify(record, token, start + 60s + 5min).state, LeaseState::unknown);
    EXPECT_EQ(verify(record, 12345, start).state, LeaseState::unknown);
}

TEST_F(Rules, let_nobody_overtake_a_waiter_that_came_first) {  // G6
    grant("alice", Predicate::consumes);
    EXPECT_FALSE(enqueue(record, claim_of("bob"), start + 10s));
    const auto verdict = ask("carol", Predicate::consumes, start);
    const ConflictReport& standing = std::get<Busy>(verdict).standing;
    ASSERT_EQ(standing.conflicts.size(), 1U);
    EXPECT_EQ(standing.conflicts[0].token, 0U) << "a waiter has no token";
    EXPECT_EQ(standing.ahead, 1U);
    EXPECT_NE(grant("carol", Predicate::consumes, start + 10s), 0U) << "the waiter's time is up";
}

TEST_F(Rules, take_a_granted_claim_out_of_the_queue) {
    const Claim claim = claim_of("bob");
    enqueue(record, claim, start + 10s);
    EXPECT_TRUE(std::holds_alternative<Granted>(acquire(record, NoNeighbours{}, claim, start)));
    EXPECT_TRUE(record.waiters.empty());
}

TEST_F(Rules, keep_the_queue_in_order_and_bounded) {
    Claim claim = claim_of("w");
    for (std::uint64_t id = limits::waiters_per_record; id >= 1; --id) {
        claim.request = id;
        ASSERT_FALSE(enqueue(record, claim, start + 10s));
    }
    for (std::size_t i = 0; i < record.waiters.size(); ++i)
        EXPECT_EQ(record.waiters[i].id, i + 1);
    claim.request = 5000;
    EXPECT_EQ(enqueue(record, claim, start + 10s)->code, Code::too_many_waiters);
}

TEST_F(Rules, put_an_older_agent_before_those_that_wait_already) {  // G6
    Claim younger = claim_of("young");
    younger.agent = true;
    younger.priority = 200;
    Claim older = claim_of("old");
    older.agent = true;
    older.priority = 100;
    enqueue(record, younger, start + 10s);
    enqueue(record, older, start + 10s);
    ASSERT_EQ(record.waiters.size(), 2U);
    EXPECT_EQ(record.waiters[0].holder, "old");
}

// ---- grace (R5) ----

TEST_F(Rules, keep_what_an_agent_said_it_will_resume_for_15_s_past_expiry_to_the_nanosecond) {
    const Token token = grant("agent");
    EXPECT_EQ(declare_restart(record, "agent", start + 1s), 1U);
    EXPECT_EQ(renewal_refused(token, "agent", start + 60s), Code::lease_expired) << "T2 stays true";
    EXPECT_EQ(verify(record, token, start + 60s).state, LeaseState::grace);
    EXPECT_EQ(verify(record, token, start + 60s).reserved_for, Duration{15s});
    EXPECT_TRUE(verify(record, token, start + 60s).current.empty()) << "it is not usable";
    EXPECT_EQ(grant("other", Predicate::mutates, start + 75s - 1ns), 0U);
    EXPECT_EQ(verify(record, token, start + 75s).state, LeaseState::expired);
    EXPECT_NE(grant("other", Predicate::mutates, start + 75s), 0U);
}

TEST_F(Rules, know_grace_swept_or_not) {
    const Token token = grant("agent");
    declare_restart(record, "agent", start);
    const Record unswept = record;
    settle(record, start + 61s);
    EXPECT_TRUE(record.leases.empty());
    for (const Record* seen : {&unswept, static_cast<const Record*>(&record)}) {
        EXPECT_EQ(verify(*seen, token, start + 61s).state, LeaseState::grace);
        const ConflictReport standing = standing_of(*seen, NoNeighbours{}, claim_of("other"), start + 61s);
        ASSERT_EQ(standing.conflicts.size(), 1U);
        EXPECT_TRUE(standing.conflicts[0].reserved);
        EXPECT_EQ(standing.free_in, Duration{14s});
        EXPECT_TRUE(standing_of(*seen, NoNeighbours{}, claim_of("other"), start + 75s).free());
    }
}

TEST_F(Rules, know_grace_even_when_the_history_is_full) {
    const Token token = grant("agent", Predicate::consumes);
    declare_restart(record, "agent", start);
    settle(record, start + 60s);
    for (std::size_t i = 0; i < limits::ended_per_record; ++i)
        release(record, grant("reader", Predicate::consumes, start + 61s), "reader", start + 61s);
    EXPECT_EQ(record.find_ended(token), nullptr);
    EXPECT_EQ(verify(record, token, start + 61s).state, LeaseState::grace);
}

TEST_F(Rules, let_the_agent_resume_with_a_new_token_and_nobody_in_between) {
    const Token before = grant("agent");
    declare_restart(record, "agent", start);
    Claim next_life = claim_of("agent");
    next_life.session = "second life";
    const auto verdict = acquire(record, NoNeighbours{}, next_life, start + 75s - 1ms);
    EXPECT_GT(std::get<Granted>(verdict).lease->token, before);
    EXPECT_EQ(grant("other", Predicate::mutates, start + 75s), 0U);
}

TEST_F(Rules, let_a_lease_of_the_earlier_life_give_way) {
    const Token before = grant("agent");
    declare_restart(record, "agent", start);
    Claim next_life = claim_of("agent");
    next_life.session = "second life";
    const auto verdict = acquire(record, NoNeighbours{}, next_life, start + 5s);
    ASSERT_EQ(std::get<Granted>(verdict).superseded.size(), 1U);
    EXPECT_EQ(verify(record, before, start + 5s).state, LeaseState::released);
    ASSERT_EQ(record.leases.size(), 1U);

    roll_back(record, next_life.token);
    EXPECT_EQ(grant("other", Predicate::mutates, start + 70s), 0U) << "taken back, it is still reserved";
    EXPECT_NE(grant("other", Predicate::mutates, start + 75s), 0U);
}

TEST_F(Rules, do_not_let_a_life_that_declared_nothing_be_resumed_by_the_next) {
    grant("agent");
    Claim next_life = claim_of("agent");
    next_life.session = "second life";
    EXPECT_TRUE(std::holds_alternative<Busy>(acquire(record, NoNeighbours{}, next_life, start + 5s)));
}

TEST_F(Rules, free_a_reservation_when_its_agent_releases_or_an_admin_revokes_it) {
    Token token = grant("agent");
    declare_restart(record, "agent", start);
    const auto stranger = release(record, token, "other", start + 61s);
    EXPECT_FALSE(std::get<AlreadyEnded>(stranger).was_reserved);
    const auto own = release(record, token, "agent", start + 61s);
    EXPECT_TRUE(std::get<AlreadyEnded>(own).was_reserved);
    token = grant("agent", Predicate::mutates, start + 61s);
    ASSERT_NE(token, 0U);
    declare_restart(record, "agent", start + 61s);
    EXPECT_TRUE(std::holds_alternative<Lease>(revoke(record, token, start + 122s)));
    EXPECT_NE(grant("other", Predicate::mutates, start + 122s), 0U);
}

// ---- quotas and idleness (R6) ----

TEST_F(Rules, cut_what_would_go_beyond_the_quota_and_refuse_when_nothing_is_left) {
    policy.hold_max = 100s;
    const Token token = grant("alice");
    const auto cut = renew(record, {token, "alice", "r", {}, {}}, policy, start + 50s);
    EXPECT_EQ(std::get<Renewed>(cut).lease->expires_at, start + 100s);
    EXPECT_EQ(std::get<Renewed>(cut).ttl, Duration{50s}) << "its timeline follows what is left";
    EXPECT_EQ(std::get<Renewed>(cut).cut_from, Duration{60s});
    EXPECT_EQ(renewal_refused(token, "alice", start + 60s), Code::over_quota);
    EXPECT_EQ(verify(record, token, start + 100s - 1ns).state, LeaseState::active) << "it runs out on its time";
}

TEST_F(Rules, count_the_quota_over_leases_that_overlap_and_over_gaps) {
    policy.hold_max = 100s;
    ask("alice", Predicate::mutates, start, "one");
    Claim again = claim_of("alice");
    again.session = "one";
    again.hold_max = policy.hold_max;
    again.ttl_min = policy.ttl_min;
    const auto second = acquire(record, NoNeighbours{}, again, start + 59s);
    EXPECT_EQ(std::get<Granted>(second).lease->held_since, start);
    EXPECT_EQ(std::get<Granted>(second).lease->expires_at, start + 100s);
    again.token = ++next_token;
    EXPECT_EQ(std::get<Rejected>(acquire(record, NoNeighbours{}, again, start + 99s + 1ms)).code, Code::over_quota);
    again.token = ++next_token;
    EXPECT_EQ(std::get<Rejected>(acquire(record, NoNeighbours{}, again, start + 100s)).code, Code::over_quota);
    again.token = ++next_token;
    const auto later = acquire(record, NoNeighbours{}, again, start + 130s);
    EXPECT_EQ(std::get<Granted>(later).lease->ttl, Duration{30s}) << "30 s without it pay for 30 s with it";
    again.token = ++next_token;
    const auto much_later = acquire(record, NoNeighbours{}, again, start + 260s);
    EXPECT_EQ(std::get<Granted>(much_later).lease->held_since, start + 260s) << "a gap of hold_max: from anew";
}

TEST_F(Rules, do_not_forget_what_was_held_when_the_holder_lets_go_and_asks_at_once) {  // R6
    policy.hold_max = 100s;
    Instant now = start;
    Duration held{};
    for (int i = 0; i < 20; ++i) {
        Claim claim = claim_of("alice", all_predicates[static_cast<std::size_t>(i) % all_predicates.size()]);
        const std::string session = std::to_string(i);
        claim.session = session;
        claim.hold_max = policy.hold_max;
        claim.ttl_min = policy.ttl_min;
        const auto verdict = acquire(record, NoNeighbours{}, claim, now);
        const auto* granted = std::get_if<Granted>(&verdict);
        if (granted == nullptr) {
            EXPECT_EQ(std::get<Rejected>(verdict).code, Code::over_quota);
            continue;
        }
        const Duration kept = std::min<Duration>(granted->lease->ttl, 30s);
        held += kept;
        now += kept;
        release(record, granted->lease->token, "alice", now);
    }
    EXPECT_EQ(held, Duration{100s});
    EXPECT_NE(grant("bob", Predicate::mutates, now), 0U) << "it is free for others";
}

TEST_F(Rules, remember_nothing_of_who_held_without_a_quota) {
    const Token token = grant("alice");
    release(record, token, "alice", start + 50s);
    EXPECT_TRUE(record.past.empty());
}

TEST_F(Rules, refuse_to_renew_what_stands_still_and_forgive_when_it_moves) {
    policy.idle_max = 30s;
    const Token token = grant("alice");
    const auto beat = [&](std::optional<std::uint64_t> progress, Instant now) {
        return std::holds_alternative<Renewed>(renew(record, {token, "alice", "r", {}, progress}, policy, now));
    };
    EXPECT_TRUE(beat({}, start + 40s)) << "who does not count cannot stand still";
    EXPECT_TRUE(beat(5, start + 41s));
    EXPECT_TRUE(beat(5, start + 71s - 1ms));
    EXPECT_EQ(renewal_refused(token, "alice", start + 71s), Code::lease_idle);
    EXPECT_FALSE(beat(4, start + 71s)) << "going back is no progress";
    EXPECT_TRUE(beat(6, start + 72s));
    EXPECT_TRUE(beat(6, start + 73s));
}

}  // namespace
}  // namespace holdfast::lease
