#include <gtest/gtest.h>
#include <set>

#include "store/quorum/cluster.h"

namespace holdfast::store::quorum {
namespace {

/// How many messages, to and fro, this takes.
template <class Do>
std::size_t messages(Cluster& cluster, Do what) {
    const std::size_t before = cluster.sent;
    what();
    cluster.deliver();
    return cluster.sent - before;
}

TEST(QuorumRounds, take_two_for_a_grant_and_one_for_what_the_same_node_does_next) {
    Cluster cluster;
    Promised<lease::Token> acquired;
    EXPECT_EQ(messages(cluster, [&] { acquired = cluster.acquire(0, "r", {"alice"}); }), 8U);
    ASSERT_TRUE(acquired->value);
    for (int i = 0; i < 3; ++i) {
        Promised<bool> renewed;
        EXPECT_EQ(messages(cluster, [&] { renewed = cluster.renew(0, "r", *acquired->value, "alice"); }), 4U);
        EXPECT_EQ(renewed->value, true);
    }
    EXPECT_EQ(cluster.store(0).counts().one_round, 3U);
    Promised<bool> released;
    EXPECT_EQ(messages(cluster, [&] { released = cluster.release(0, "r", *acquired->value, "alice"); }), 4U);
    EXPECT_EQ(released->value, true);
}

TEST(QuorumRounds, take_two_again_when_another_node_was_there_in_between) {
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "r", {"alice"});
    const auto through_other = cluster.renew(1, "r", token, "alice");
    cluster.deliver();
    EXPECT_EQ(through_other->value, true);
    const auto renewed = cluster.renew(0, "r", token, "alice");
    cluster.deliver();
    EXPECT_EQ(renewed->value, true);
    EXPECT_EQ(cluster.store(0).counts().one_round, 0U);
}

TEST(QuorumRounds, do_not_overwrite_what_another_node_wrote_unheard) {
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "r", {"alice", 30s});
    cluster.cut_off(0);
    const auto released = cluster.release(1, "r", token, "alice");
    cluster.deliver();
    ASSERT_EQ(released->value, true);
    cluster.cut_off(0, false);
    const auto renewed = cluster.renew(0, "r", token, "alice");
    cluster.pass(200ms);
    EXPECT_EQ(renewed->value, false);
    EXPECT_EQ(cluster.store(0).counts().one_round, 1U) << "it was tried, and refused";
    EXPECT_NE(cluster.acquired(2, "r", {"bob"}), 0U);
}

TEST(QuorumRounds, read_with_one_when_a_majority_agrees) {
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "r", {"alice"});
    Promised<lease::LeaseState> state;
    EXPECT_EQ(messages(cluster, [&] { state = cluster.state(1, "r", token); }), 4U);
    EXPECT_EQ(state->value, lease::LeaseState::active);
    EXPECT_EQ(messages(cluster, [&] { cluster.renew(1, "r", token, "alice"); }), 4U) << "its promises are still good";
}

TEST(QuorumRounds, apply_what_came_meanwhile_together_and_in_order) {
    Cluster cluster;
    std::vector<Promised<lease::Token>> asked;
    for (int i = 0; i < 10; ++i)
        asked.push_back(cluster.acquire(0, "r", {"h" + std::to_string(i), 10s, lease::Predicate::consumes}));
    cluster.deliver();
    EXPECT_EQ(cluster.store(0).counts().attempts, 2U);
    lease::Token last = 0;
    for (const auto& one : asked) {
        ASSERT_TRUE(one->value);
        EXPECT_GT(*one->value, last);
        last = *one->value;
    }
}

TEST(QuorumRounds, let_two_nodes_that_get_in_each_others_way_both_finish) {
    Cluster cluster({.members = 5});
    std::vector<Promised<lease::Token>> asked;
    for (int i = 0; i < 50; ++i)
        asked.push_back(cluster.acquire(static_cast<std::size_t>(i) % 5, "r",
                                        {"h" + std::to_string(i), 10s, lease::Predicate::consumes}));
    cluster.pass(4s);
    std::set<lease::Token> tokens;
    for (const auto& one : asked) {
        ASSERT_TRUE(one->value) << one->error;
        EXPECT_TRUE(tokens.insert(*one->value).second);
    }
}

TEST(QuorumRounds, hold_back_what_there_is_too_much_of) {
    Cluster cluster;
    cluster.cut_off(0);
    std::vector<Promised<lease::LeaseState>> asked;
    for (int i = 0; i < 200'001; ++i)
        asked.push_back(cluster.state(0, "r", 1));
    EXPECT_FALSE(asked[199'999]->done);
    EXPECT_TRUE(asked[200'000]->done);
    EXPECT_EQ(asked[200'000]->error, Code::unavailable);
}

/// Two that do not reach each other, and both reach the third: there each is in the other's way.
TEST(QuorumRounds, do_not_wait_for_those_that_are_away_when_another_refuses) {
    Cluster cluster;
    cluster.cut(0, 1);
    const lease::Token token = cluster.acquired(0, "r", {"alice", 30s});
    for (int i = 0; i < 5; ++i) {
        const auto looked = cluster.state(1, "r", token);
        cluster.pass(30ms);
        EXPECT_EQ(looked->value, lease::LeaseState::active);
        const auto renewed = cluster.renew(0, "r", token, "alice");
        cluster.pass(30ms);
        EXPECT_EQ(renewed->value, true) << "after another one's look, in round " << i;
    }
    EXPECT_GT(cluster.store(0).counts().failed, 0U) << "nobody was in the way";
}

}  // namespace
}  // namespace holdfast::store::quorum
