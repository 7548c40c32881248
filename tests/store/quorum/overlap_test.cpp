#include <gtest/gtest.h>

#include "store/quorum/cluster.h"

namespace holdfast::store::quorum {
namespace {

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
    cluster.fate = [](const Envelope& envelope) {
        const bool late = envelope.to == 2 && std::holds_alternative<Accept>(envelope.message);
        return late ? Cluster::Fate::hold : Cluster::Fate::deliver;
    };
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

}  // namespace
}  // namespace holdfast::store::quorum
