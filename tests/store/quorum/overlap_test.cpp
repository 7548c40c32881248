#include <gtest/gtest.h>
#include <map>
#include <set>

#include "store/quorum/cluster.h"

namespace holdfast::store::quorum {
namespace {

auto holds_accepts_for(NodeIndex node) {
    return [node](const Envelope& envelope) {
        const bool late = envelope.to == node && std::holds_alternative<Accept>(envelope.message);
        return late ? Cluster::Fate::hold : Cluster::Fate::deliver;
    };
}

TEST(QuorumOverlap, keeps_a_tree_from_who_holds_a_file_in_it_through_any_node) {
    Cluster cluster;
    const Cluster::Ask alice{"alice", 10s, lease::Predicate::mutates, "one"};
    const lease::Token file = cluster.acquired(0, "FILE:/a/b", alice);
    ASSERT_NE(file, 0U);
    EXPECT_EQ(cluster.acquired(1, "FILE:/a/**", {"bob"}), 0U);
    EXPECT_NE(cluster.acquired(1, "FILE:/a/**", alice), 0U) << "nobody is in its own way";
    EXPECT_NE(cluster.acquired(2, "FILE:/c/**", {"bob"}), 0U);
    EXPECT_EQ(cluster.acquired(2, "FILE:/a/d/e", {"bob"}), 0U);
}

TEST(QuorumOverlap, lets_at_most_one_of_two_have_it_that_ask_at_the_same_time) {
    for (std::uint64_t order = 0; order < 40; ++order) {
        Cluster cluster;
        const auto tree = cluster.acquire(0, "FILE:/a/**", {"alice"});
        const auto file = cluster.acquire(1, "FILE:/a/b", {"bob"});
        Random random(order);
        for (int i = 0; i < 1000 && !cluster.flying.empty(); ++i) {
            std::swap(cluster.flying.front(), cluster.flying[random.below(cluster.flying.size())]);
            cluster.deliver_one();
        }
        cluster.pass(2s);
        ASSERT_TRUE(tree->value && file->value);
        EXPECT_NE(*tree->value != 0, *file->value != 0) << "order " << order;
    }
}

TEST(QuorumOverlap, leaves_nothing_behind_of_what_it_took_back) {
    Cluster cluster;
    const auto tree = cluster.acquire(0, "FILE:/a/**", {"alice"});
    const auto file = cluster.acquire(1, "FILE:/a/b", {"bob"});
    cluster.pass(2s);
    std::size_t leases = 0;
    for (const char* name : {"FILE:/a/**", "FILE:/a/b"}) {
        const auto record = cluster.read(2, name);
        cluster.pass(100ms);
        leases += record->value->leases.size();
    }
    EXPECT_EQ(leases, 1U);
}

TEST(QuorumOverlap, looks_around_after_a_renewal_and_not_for_a_release) {
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "FILE:/a/b", {"alice"});
    std::size_t looks = 0;
    cluster.fate = [&](const Envelope& envelope) {
        looks += std::holds_alternative<ReadRequest>(envelope.message);
        return Cluster::Fate::deliver;
    };
    const auto renewed = cluster.renew(0, "FILE:/a/b", token, "alice");
    cluster.pass(100ms);
    EXPECT_EQ(renewed->value, true);
    EXPECT_EQ(looks, 2U) << "one at each of the others";
    const auto released = cluster.release(1, "FILE:/a/b", token, "alice");
    cluster.pass(100ms);
    EXPECT_EQ(released->value, true);
    EXPECT_EQ(looks, 2U);
}

TEST(QuorumOverlap, renews_nothing_that_was_over_when_what_overlaps_was_granted) {
    Cluster cluster;
    cluster.fate = holds_accepts_for(2);
    const lease::Token file = cluster.acquired(0, "FILE:/a/b", {"alice", 10s});
    cluster.pass(9s);
    cluster.let_go();
    cluster.deliver();  // to one acceptor it is as good as new
    cluster.fate = {};
    cluster.cut_off(2);
    cluster.pass(5s);
    ASSERT_NE(cluster.acquired(0, "FILE:/a/**", {"bob", 30s}), 0U) << "the others saw its end";
    cluster.cut_off(2, false);
    const auto renewed = cluster.renew(2, "FILE:/a/b", file, "alice");
    cluster.pass(10s);
    EXPECT_TRUE(renewed->done);
    EXPECT_NE(renewed->value, true);
    EXPECT_EQ(cluster.acquired(1, "FILE:/a/b", {"alice"}), 0U);
}

TEST(QuorumOverlap, renews_nothing_that_a_majority_saw_end_although_a_late_copy_outlasts_what_came_after_it) {
    Cluster cluster;
    cluster.fate = holds_accepts_for(2);
    const lease::Token file = cluster.acquired(0, "FILE:/a/b", {"alice", 10s});
    cluster.pass(9s);
    cluster.let_go();
    cluster.deliver();  // this acceptor shows it for ten more seconds
    cluster.fate = {};
    cluster.cut_off(2);
    cluster.pass(2s);
    ASSERT_NE(cluster.acquired(0, "FILE:/a/**", {"bob", 1s}), 0U) << "the others saw its end";
    cluster.pass(2s);
    cluster.cut_off(2, false);
    for (const std::size_t asked : {2U, 0U, 2U}) {
        const auto state = cluster.state(asked, "FILE:/a/b", file);
        cluster.pass(100ms);
        EXPECT_EQ(state->value, lease::LeaseState::expired);
        const auto renewed = cluster.renew(asked, "FILE:/a/b", file, "alice");
        cluster.pass(100ms);
        EXPECT_EQ(renewed->value, false);
    }
}

TEST(QuorumOverlap, writes_the_end_of_a_lease_for_a_node_that_heard_of_it_late) {
    Cluster cluster;
    cluster.fate = holds_accepts_for(2);
    const lease::Token file = cluster.acquired(0, "FILE:/a/b", {"alice", 10s});
    cluster.pass(5s);
    cluster.let_go();
    cluster.deliver();
    cluster.fate = {};
    const auto state = cluster.state(2, "FILE:/a/b", file);
    cluster.pass(100ms);
    EXPECT_EQ(state->value, lease::LeaseState::active);
    cluster.pass(6s);
    cluster.cut_off(2);
    std::size_t leases = 0;
    cluster.store(2).list({}, [&](const Result<ListPage>& page) { leases = page->leases.size(); });
    EXPECT_EQ(leases, 0U) << "its copy ends with those of the others from when it was read";
}

/// A lease on FILE:/a/b that has ended at nodes 1 and 2, which have granted FILE:/a/** since. Then node 0 hears of the
/// newest record of the file, which node 1 had written and nobody else heard of in time. Node 1 is gone.
lease::Token shown_by_node_0_only(Cluster& cluster) {
    cluster.fate = holds_accepts_for(0);
    const lease::Token file = cluster.acquired(1, "FILE:/a/b", {"alice", 10s});
    cluster.held.clear();
    cluster.fate = [](const Envelope& envelope) {
        const bool lost = envelope.to == 2 && envelope.from == 1;
        return lost ? Cluster::Fate::lose : holds_accepts_for(0)(envelope);
    };
    const auto read = cluster.read(1, "FILE:/a/b");
    cluster.pass(6s);
    EXPECT_EQ(read->error, Code::unavailable);
    cluster.fate = {};
    cluster.cut_off(0);
    cluster.pass(10s);
    EXPECT_NE(cluster.acquired(2, "FILE:/a/**", {"bob", 8s}), 0U) << "the others saw its end";
    cluster.cut_off(0, false);
    cluster.cut_off(1);
    EXPECT_FALSE(cluster.held.empty());
    for (const Envelope& envelope : cluster.held)
        cluster.store(0).receive(envelope);
    return file;
}

Duration left_at(Cluster& cluster, std::size_t node, std::string_view resource) {
    Duration left{};
    ListQuery query;
    query.prefix = resource;
    cluster.store(node).list(query, [&](const Result<ListPage>& page) {
        if (!page->leases.empty()) left = page->leases[0].lease.expires_at - cluster.local_time(node);
    });
    return left;
}

TEST(QuorumOverlap, lets_a_renewal_that_could_not_look_around_give_no_time) {
    Cluster cluster;
    const lease::Token file = shown_by_node_0_only(cluster);
    cluster.fate = [](const Envelope& envelope) {
        return std::holds_alternative<ReadRequest>(envelope.message) ? Cluster::Fate::lose : Cluster::Fate::deliver;
    };
    const auto renewed = cluster.renew(0, "FILE:/a/b", file, "alice");
    cluster.pass(600ms);
    EXPECT_FALSE(renewed->done);
    cluster.fate = {};
    cluster.pass(8s);  // longer than it had left, and than the tree is held
    EXPECT_NE(renewed->value, true);
    const auto again = cluster.renew(0, "FILE:/a/b", file, "alice");
    cluster.pass(100ms);
    EXPECT_EQ(again->value, false);
}

TEST(QuorumOverlap, takes_no_time_from_a_lease_whose_renewal_it_takes_back) {
    Cluster cluster({.rho = 0.2});
    const lease::Token file = shown_by_node_0_only(cluster);
    const Duration before = left_at(cluster, 0, "FILE:/a/b");
    ASSERT_GT(before, 3s);
    cluster.fate = [](const Envelope& envelope) {
        return std::holds_alternative<ReadRequest>(envelope.message) ? Cluster::Fate::hold : Cluster::Fate::deliver;
    };
    const auto renewed = cluster.renew(0, "FILE:/a/b", file, "alice");
    cluster.pass(450ms);
    EXPECT_GT(left_at(cluster, 0, "FILE:/a/b"), 9s) << "renewed, unless it has to be taken back";
    cluster.fate = {};
    cluster.let_go();
    cluster.deliver();
    EXPECT_FALSE(renewed->done);
    const Duration lost = before - left_at(cluster, 0, "FILE:/a/b");
    EXPECT_GT(lost, 280ms);
    EXPECT_LT(lost, 320ms) << "450 ms in the measure of acceptors";
}

/// Makes the next round of node 0 for FILE:/a/b begin this far below its ceiling, which is not raised any more.
void count_up_to_the_ceiling(Cluster& cluster, std::uint64_t below) {
    constexpr std::uint64_t gap = 8;  // that a refused proposer leaves
    cluster.disk_stalled = true;
    const lease::Token ceiling = cluster.durable_ceiling(0);
    for (const std::size_t other : {1U, 2U})
        cluster.store(other).acceptor().raise_token_ceiling(2 * ceiling);
    const Ballot promised{ceiling - below - gap, 1, 1};
    ASSERT_TRUE(cluster.store(2).acceptor().prepare({"FILE:/a/b", promised})->granted);
}

TEST(QuorumOverlap, uses_no_ballot_twice_after_it_could_not_take_back_a_renewal_itself) {  // Q2
    Cluster cluster;
    const lease::Token file = shown_by_node_0_only(cluster);
    count_up_to_the_ceiling(cluster, 2);  // enough for the renewal
    std::map<Ballot, std::set<Instant>> written;
    std::map<Ballot, Ballot> next;
    bool holds_reads = true;
    cluster.fate = [&](const Envelope& envelope) {
        if (holds_reads && std::holds_alternative<ReadRequest>(envelope.message)) return Cluster::Fate::hold;
        if (const auto* accept = std::get_if<Accept>(&envelope.message); accept && envelope.from == 0) {
            const auto& leases = accept->record.record.leases;
            written[accept->ballot].insert(leases.empty() ? Instant{} : leases[0].expires_at);
            next[accept->ballot] = accept->next;
        }
        return Cluster::Fate::deliver;
    };
    const auto renewed = cluster.renew(0, "FILE:/a/b", file, "alice");
    cluster.pass(400ms);
    ASSERT_EQ(written.size(), 1U) << "renewed, unless it has to be taken back";
    cluster.cut_off(1, false);
    cluster.let_go();
    cluster.pass(1s);
    ASSERT_GE(written.size(), 2U) << "taken back";
    const Ballot taken_back = std::next(written.begin())->first;
    EXPECT_EQ(taken_back.counter, cluster.durable_ceiling(0));
    EXPECT_GT(next[taken_back].counter, cluster.durable_ceiling(0)) << "too high for its own acceptor";
    holds_reads = false;
    cluster.pass(5s);
    for (const auto& [ballot, ends] : written)
        EXPECT_EQ(ends.size(), 1U) << "ballot " << ballot.counter << " has written two records";
    EXPECT_NE(renewed->value, true);
}

}  // namespace
}  // namespace holdfast::store::quorum
