#include "store/quorum/quorum_store.h"

#include <gtest/gtest.h>
#include <set>

#include "store/quorum/cluster.h"

namespace holdfast::store::quorum {
namespace {

using Fate = Cluster::Fate;

const Prepare* prepare_in(const Envelope& envelope) {
    return std::get_if<Prepare>(&envelope.message);
}
const Accept* accept_in(const Envelope& envelope) {
    return std::get_if<Accept>(&envelope.message);
}
const Vote* vote_in(const Envelope& envelope) {
    return std::get_if<Vote>(&envelope.message);
}

TEST(QuorumStore, serves_one_register_through_any_node) {  // Q1
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "r", {"alice"});
    EXPECT_NE(token, 0U);
    for (std::size_t node = 0; node < 3; ++node)
        EXPECT_EQ(cluster.acquired(node, "r", {"bob"}), 0U) << "through node " << node;
    const auto renewed = cluster.renew(1, "r", token, "alice");
    const auto released = cluster.release(2, "r", token, "alice");
    cluster.deliver();
    EXPECT_EQ(renewed->value, true);
    cluster.pass(100ms);
    EXPECT_EQ(released->value, true);
    EXPECT_GT(cluster.acquired(1, "r", {"bob"}), token);
}

TEST(QuorumStore, dates_a_grant_once_by_the_wall_clock_of_the_node_that_makes_it) {
    Cluster cluster({.clocks = {{1h}, {2h}, {3h}}});
    const std::int64_t granted_at = to_ms(cluster.local_time(0).time_since_epoch()) + 1'000'000;
    cluster.fate = [](const Envelope& envelope) { return accept_in(envelope) != nullptr ? Fate::hold : Fate::deliver; };
    const auto granted = cluster.acquire(0, "r", {"alice"});
    cluster.pass(100ms);  // on its way
    cluster.fate = nullptr;
    cluster.let_go();
    cluster.deliver();
    ASSERT_TRUE(granted->done);
    const auto dates = [&] {
        std::set<std::int64_t> found;
        for (std::size_t node = 0; node < 3; ++node)
            cluster.store(node).list({}, [&](const Result<ListPage>& page) {
                for (const NamedLease& named : page->leases)
                    found.insert(named.lease.acquired_wall_ms);
            });
        return found;
    };
    EXPECT_EQ(dates(), std::set<std::int64_t>{granted_at});
    cluster.pass(1s);
    const auto renewed = cluster.renew(2, "r", *granted->value, "alice");
    cluster.deliver();
    EXPECT_EQ(renewed->value, true);
    EXPECT_EQ(dates(), std::set<std::int64_t>{granted_at}) << "whoever renews it";
}

TEST(QuorumStore, gives_up_at_once_what_no_majority_can_decide_and_knows_when_one_can) {
    Cluster cluster;
    EXPECT_EQ(cluster.store(0).decides_in(), Duration::zero());
    const Instant now = cluster.local_time(0);
    cluster.store(0).set_silence(1, now + 30s);
    cluster.store(0).set_silence(2, now + 20s);
    EXPECT_FALSE(cluster.store(0).votes(2));
    EXPECT_EQ(cluster.store(0).decides_in(), Duration{20s});
    const auto later = cluster.acquire(0, "r", {"alice"});
    EXPECT_TRUE(later->done) << "nobody is waited for in vain";
    EXPECT_EQ(later->error, Code::unavailable);
    EXPECT_EQ(later->retry_in, Duration{20s}) << "and is told how long it lasts";
    cluster.pass(21s);
    EXPECT_EQ(cluster.store(0).decides_in(), Duration::zero());
    EXPECT_NE(cluster.acquired(0, "r", {"alice"}), 0U);
}

TEST(QuorumStore, says_when_a_majority_can_decide_also_to_those_who_waited_too_long) {
    Cluster cluster;
    cluster.fate = [](const Envelope&) { return Fate::lose; };
    const auto later = cluster.acquire(0, "r", {"alice"});
    cluster.pass(4999ms);
    EXPECT_FALSE(later->done);
    for (const NodeIndex peer : {NodeIndex{1}, NodeIndex{2}})
        cluster.store(0).set_silence(peer, cluster.local_time(0) + 60s);
    cluster.pass(2s);
    EXPECT_EQ(later->error, Code::unavailable);
    EXPECT_GT(later->retry_in, Duration{57s});

    for (const NodeIndex peer : {NodeIndex{1}, NodeIndex{2}})
        cluster.store(0).set_silence(peer, Instant{});
    const auto merely_slow = cluster.acquire(0, "r", {"alice"});
    cluster.pass(7s);
    EXPECT_EQ(merely_slow->error, Code::unavailable);
    EXPECT_EQ(merely_slow->retry_in, std::nullopt);
}

TEST(QuorumStore, waits_for_nodes_that_were_lost_a_moment_ago_and_not_for_those_that_stay_away) {
    Cluster cluster;
    cluster.fate = [](const Envelope&) { return Cluster::Fate::lose; };
    for (const NodeIndex peer : {NodeIndex{1}, NodeIndex{2}})
        cluster.store(0).set_peer(peer, std::nullopt);
    EXPECT_FALSE(cluster.store(0).decides_in());
    const auto first = cluster.acquire(0, "r", {"alice"});
    EXPECT_FALSE(first->done) << "they may be back in a moment";
    cluster.pass(3s);
    EXPECT_EQ(first->error, Code::unavailable);
    EXPECT_EQ(cluster.acquire(0, "r", {"alice"})->error, Code::unavailable) << "at once";
}

TEST(QuorumStore, serves_with_a_minority_gone_and_not_with_a_majority_gone) {  // Q1
    Cluster cluster;
    cluster.crash(2);
    EXPECT_NE(cluster.acquired(0, "r", {"alice"}), 0U);
    cluster.crash(1);
    const auto later = cluster.acquire(0, "s", {"alice"});
    cluster.pass(4s);
    EXPECT_FALSE(later->done);
    cluster.pass(2s);
    EXPECT_TRUE(later->done);
    EXPECT_EQ(later->error, Code::unavailable);
    EXPECT_EQ(cluster.store(0).counts().given_up, 1U);
    EXPECT_EQ(cluster.store(0).under_way(), 0U);
}

TEST(QuorumStore, answers_at_once_when_it_is_alone) {
    Cluster cluster({.members = 1});
    const auto later = cluster.acquire(0, "r", {"alice"});
    EXPECT_TRUE(later->done);
    EXPECT_NE(later->value, lease::Token{0});
    EXPECT_EQ(cluster.sent, 0U);
}

TEST(QuorumStore, uses_no_ballot_twice_in_any_of_its_lives) {  // Q2
    Cluster cluster;
    std::set<std::tuple<std::string, Ballot>> used;
    cluster.fate = [&](const Envelope& envelope) {
        const Prepare* prepare = prepare_in(envelope);
        const bool counted = prepare != nullptr && envelope.to == 1;
        EXPECT_TRUE(!counted || used.insert({prepare->resource, prepare->ballot}).second);
        return Fate::deliver;
    };
    for (int life = 0; life < 3; ++life) {
        for (const char* holder : {"alice", "bob"})
            cluster.acquired(0, "r", {holder, 1s});
        cluster.pass(2s);
        cluster.acquired(0, "r", {"carol", 1s});
        cluster.crash(0);
        cluster.start_again(0);
    }
    EXPECT_GE(used.size(), 9U);
}

TEST(QuorumStore, counts_the_deadline_from_the_sending_even_if_no_timer_came_in_between) {  // Q3
    for (const bool late : {false, true}) {
        Cluster cluster;
        cluster.cut_off(2);
        cluster.fate = [](const Envelope& envelope) {
            const Vote* vote = vote_in(envelope);
            return vote != nullptr && !vote->accepting ? Fate::hold : Fate::deliver;
        };
        cluster.acquire(0, "r", {"alice"});
        cluster.deliver();
        ASSERT_EQ(cluster.held.size(), 1U);
        const Envelope promise = cluster.held.front();
        cluster.held.clear();
        std::size_t accepts = 0;
        cluster.fate = [&](const Envelope& envelope) {
            accepts += accept_in(envelope) != nullptr;
            return Fate::lose;
        };
        // The node slept: its time is told, but no step of its timers was taken.
        cluster.jump(late ? Duration{500ms} : Duration{500ms - 1ns});
        cluster.store(0).advance(cluster.local_time(0), 0);
        cluster.store(0).receive(promise);
        EXPECT_EQ(accepts, late ? 0U : 1U);
    }
}

TEST(QuorumStore, counts_who_replied_and_not_how_often) {  // Q4
    Cluster cluster({.members = 5});
    cluster.cut_off(2);
    cluster.cut_off(3);
    cluster.cut_off(4);
    cluster.fate = [](const Envelope&) { return Fate::twice; };
    const auto later = cluster.acquire(0, "r", {"alice"});
    cluster.pass(400ms);
    EXPECT_FALSE(later->done) << "two nodes that say everything twice are not three";
}

TEST(QuorumStore, goes_by_the_highest_ballot_of_a_majority) {  // Q6
    Cluster cluster;
    cluster.cut_off(2);
    const lease::Token token = cluster.acquired(0, "r", {"alice", 50s});
    cluster.cut_off(2, false);
    cluster.cut_off(0);
    EXPECT_EQ(cluster.acquired(2, "r", {"bob"}), 0U) << "node 2 knew nothing of it; node 1 did";
    cluster.cut_off(0, false);
    cluster.cut_off(1);
    const auto released = cluster.release(2, "r", token, "alice");
    cluster.pass(100ms);
    EXPECT_EQ(released->value, true);
    cluster.cut_off(1, false);
    cluster.cut_off(2);
    EXPECT_NE(cluster.acquired(1, "r", {"bob"}), 0U) << "node 1 has the lease, node 0 its end";
}

TEST(QuorumStore, passes_on_what_is_left_undiminished_however_long_the_way) {  // Q6
    Cluster cluster;
    cluster.acquired(0, "r", {"alice", 10s});
    cluster.fate = [](const Envelope& envelope) { return vote_in(envelope) != nullptr ? Fate::hold : Fate::deliver; };
    const auto later = cluster.read(1, "r");
    cluster.deliver();
    cluster.jump(400ms);
    cluster.fate = {};
    cluster.let_go();
    cluster.deliver();
    ASSERT_TRUE(later->value);
    const lease::Lease& lease = later->value->leases.at(0);
    EXPECT_GE(lease.expires_at - cluster.local_time(1), 9900ms) << "of ten seconds, 420 ms ago";
}

TEST(QuorumStore, keeps_a_lease_for_longer_than_its_holder_may_use_it) {  // Q7
    for (const double node_rate : {0.99, 1.01}) {
        Cluster cluster({.clocks = {{0s, 1.01}, {5h, node_rate}, {3s, 1.01}}});
        const Duration sent = cluster.elapsed();
        cluster.acquired(0, "r", {"alice", 10s});
        const Duration holder_stops = sent + Duration{static_cast<Duration::rep>(10e9 / 0.99)};
        cluster.jump(holder_stops - cluster.elapsed() - 1us);
        for (std::size_t node = 0; node < 3; ++node) {
            const auto early = cluster.acquire(node, "r", {"bob"});
            cluster.deliver();
            EXPECT_EQ(early->value, lease::Token{0}) << "through node " << node;
        }
        cluster.pass(1s);
        EXPECT_NE(cluster.acquired(2, "r", {"bob"}), 0U);
    }
}

TEST(QuorumStore, gives_every_grant_a_token_above_all_that_a_majority_has_seen) {  // Q8, G3
    Cluster cluster;
    lease::Token last = 0;
    for (int i = 0; i < 30; ++i) {
        const lease::Token token = cluster.acquired(static_cast<std::size_t>(i) % 3, "r" + std::to_string(i % 7),
                                                    {"h" + std::to_string(i), 1s});
        if (token == 0) continue;
        EXPECT_GT(token, last);
        last = token;
        if (i % 5 == 4) cluster.pass(2s);
    }
    EXPECT_GT(last, 10U);
}

TEST(QuorumStore, takes_the_echo_of_an_attempt_that_failed_out_again) {  // Q8
    Cluster cluster;
    cluster.fate = [](const Envelope& envelope) {
        const Vote* vote = vote_in(envelope);
        return vote != nullptr && vote->accepting ? Fate::lose : Fate::deliver;
    };
    const auto later = cluster.acquire(0, "r", {"alice", 30s});
    cluster.deliver();
    EXPECT_FALSE(later->done) << "all have accepted, and it does not know";
    cluster.fate = {};
    cluster.pass(1s);
    ASSERT_TRUE(later->value);
    const auto record = cluster.read(1, "r");
    cluster.pass(100ms);
    ASSERT_EQ(record->value->leases.size(), 1U);
    EXPECT_EQ(record->value->leases[0].token, *later->value);
    EXPECT_EQ(cluster.store(0).counts().failed, 1U);
}

TEST(QuorumStore, does_not_take_another_nodes_lease_for_its_echo) {  // Q8
    Cluster cluster;
    cluster.fate = [](const Envelope& envelope) { return accept_in(envelope) != nullptr ? Fate::lose : Fate::deliver; };
    const auto first = cluster.acquire(0, "r", {"alice", 2s});
    cluster.deliver();
    cluster.fate = {};
    cluster.cut_off(0);
    const lease::Token token = cluster.acquired(1, "r", {"alice", 30s});
    ASSERT_NE(token, 0U);
    cluster.cut_off(0, false);
    cluster.pass(2s);
    ASSERT_TRUE(first->done);
    const auto state = cluster.state(2, "r", token);
    cluster.pass(100ms);
    EXPECT_EQ(state->value, lease::LeaseState::active);
    EXPECT_NE(first->value, token);
}

TEST(QuorumStore, renews_and_releases_only_with_holder_and_token) {  // Q9
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "r", {"alice"});
    const auto other_holder = cluster.release(1, "r", token, "bob");
    cluster.deliver();
    const auto other_token = cluster.release(1, "r", token + 3, "alice");
    const auto renewed = cluster.renew(1, "r", token + 3, "alice");
    cluster.pass(100ms);
    EXPECT_EQ(other_holder->value, false);
    EXPECT_EQ(other_token->value, false);
    EXPECT_EQ(renewed->value, false);
    EXPECT_EQ(cluster.acquired(2, "r", {"bob"}), 0U);
}

TEST(QuorumStore, stays_silent_after_a_crash_until_nothing_it_forgot_can_matter) {  // Q10
    Cluster cluster;
    cluster.cut_off(2);
    const Duration sent = cluster.elapsed();
    cluster.acquired(0, "r", {"alice", 60s});
    cluster.crash(1);
    cluster.start_again(1);
    cluster.cut_off(2, false);
    cluster.cut_off(0);
    const Duration silence = cluster.config(1).silence();
    cluster.pass(silence - 6s);
    const auto early = cluster.acquire(2, "r", {"bob"});
    cluster.pass(5500ms);
    EXPECT_EQ(early->error, Code::unavailable) << "one that knows nothing and one that forgot are no majority";
    cluster.pass(1s);
    EXPECT_NE(cluster.acquired(2, "r", {"bob"}), 0U);
    EXPECT_GT(cluster.elapsed() - sent, Duration{60s} * 100 / 99) << "by the slowest clock";
}

TEST(QuorumStore, proposes_while_it_is_silent) {  // Q10
    Cluster cluster;
    cluster.crash(1);
    cluster.start_again(1);
    EXPECT_GT(cluster.store(1).acceptor().silent_for(), 0ns);
    EXPECT_NE(cluster.acquired(1, "r", {"alice"}), 0U);
}

TEST(QuorumStore, writes_with_higher_ballots_than_a_lost_memory_may_have_promised) {  // Q10, Q6
    Cluster cluster;
    for (int i = 0; i < 20; ++i) {  // node 0 and 1 are far ahead in ballots; node 2 hears nothing of it
        cluster.cut_off(2);
        const lease::Token token = cluster.acquired(0, "r", {"alice", 1s});
        cluster.release(0, "r", token, "alice");
        cluster.deliver();
    }
    cluster.crash(1);
    cluster.start_again(1);
    cluster.cut_off(0);
    cluster.cut_off(2, false);
    cluster.cut(0, 2);
    cluster.pass(cluster.config(1).silence());
    ASSERT_NE(cluster.acquired(2, "r", {"bob", 60s}), 0U);
    cluster.cut_off(0, false);
    cluster.cut_off(2);
    EXPECT_EQ(cluster.acquired(1, "r", {"carol"}), 0U) << "node 0 has an older record, with a high ballot";
}

TEST(QuorumStore, needs_no_silence_after_a_clean_stop) {  // Q10
    Cluster cluster;
    cluster.cut_off(2);
    const lease::Token token = cluster.acquired(0, "r", {"alice", 60s});
    cluster.restart_cleanly(1);
    cluster.cut_off(2, false);
    cluster.cut_off(0);
    EXPECT_EQ(cluster.acquired(2, "r", {"bob"}), 0U);
    const auto state = cluster.state(1, "r", token);
    cluster.pass(100ms);
    EXPECT_EQ(state->value, lease::LeaseState::active);
}

TEST(QuorumStore, lets_no_token_fall_when_every_node_restarts) {  // Q11
    Cluster cluster;
    const lease::Token before = cluster.acquired(0, "r", {"alice", 5s});
    for (std::size_t node = 0; node < 3; ++node)
        cluster.crash(node);
    for (std::size_t node = 0; node < 3; ++node)
        cluster.start_again(node);
    cluster.pass(cluster.config(0).silence() + 1s);
    EXPECT_GT(cluster.acquired(2, "s", {"bob"}), before);
}

TEST(QuorumStore, grants_through_a_disk_that_does_not_answer) {  // Q13
    Cluster cluster;
    cluster.acquired(0, "r0", {"alice"});
    cluster.disk_stalled = true;
    for (int i = 1; i < 200; ++i)
        ASSERT_NE(cluster.acquired(static_cast<std::size_t>(i) % 3, "r" + std::to_string(i), {"alice"}), 0U);
    EXPECT_EQ(cluster.store(0).counts().failed, 0U);
}

TEST(QuorumStore, hears_nothing_that_was_meant_for_its_former_life) {  // Q12
    Cluster cluster;
    cluster.fate = [](const Envelope& envelope) {
        return accept_in(envelope) != nullptr && envelope.to == 1 ? Fate::hold : Fate::deliver;
    };
    cluster.acquire(0, "r", {"alice", 60s});
    cluster.deliver();
    ASSERT_EQ(cluster.held.size(), 1U);
    cluster.crash(1);
    cluster.start_again(1);
    cluster.pass(cluster.config(1).silence());
    const std::size_t before = cluster.sent;
    const Envelope old = cluster.held.front();
    cluster.store(1).receive(old);
    EXPECT_EQ(cluster.sent, before) << "not even a refusal";
    Envelope from_former = old;
    from_former.to_boot = 2;
    cluster.crash(0);
    cluster.start_again(0);
    cluster.store(1).receive(from_former);
    EXPECT_EQ(cluster.sent, before + 2) << "nor from a former life; the greetings are all that was said";
}

TEST(QuorumStore, drops_messages_that_fit_nothing) {  // Q12
    Cluster cluster;
    const std::size_t before = cluster.sent;
    Vote vote;
    vote.ballot = {77, 1, 0};
    vote.granted = true;
    cluster.store(0).receive({1, 0, 1, 1, vote});
    cluster.store(0).receive({9, 0, 1, 1, Prepare{"r", {1, 1, 9}}});
    cluster.store(0).receive({1, 2, 1, 1, Prepare{"r", {1, 1, 1}}});
    cluster.store(0).receive({1, 0, 1, 1, ReadReply{}});
    EXPECT_EQ(cluster.sent, before);
}

TEST(QuorumStore, answers_a_question_only_with_what_a_majority_has_accepted) {  // Q6
    Cluster cluster;
    cluster.fate = [](const Envelope& envelope) {
        return accept_in(envelope) != nullptr && envelope.to == 2 ? Fate::deliver
               : accept_in(envelope) != nullptr                   ? Fate::lose
                                                                  : Fate::deliver;
    };
    cluster.cut(0, 1);
    const auto lost = cluster.acquire(0, "r", {"alice", 60s});
    cluster.deliver();
    (void)lost;
    cluster.crash(0);
    cluster.fate = {};
    const auto seen = cluster.read(2, "r");
    cluster.pass(100ms);
    ASSERT_TRUE(seen->value);
    ASSERT_EQ(seen->value->leases.size(), 1U) << "nobody knows whether it was chosen; from now on it is";
    cluster.crash(2);
    cluster.start_again(0);
    cluster.start_again(2);
    const auto held = cluster.store(1).acceptor().prepare({"r", {1000, 1, 1}});
    ASSERT_TRUE(held && held->granted);
    EXPECT_EQ(held->record.record.leases.size(), 1U) << "what was answered outlives the node that had it";
}

}  // namespace
}  // namespace holdfast::store::quorum
