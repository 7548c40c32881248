#include <gtest/gtest.h>

#include "store/quorum/cluster.h"

namespace holdfast::store::quorum {
namespace {

Result<std::vector<lease::LeaseName>> leases_of(Cluster& cluster, std::size_t node, const std::string& holder) {
    Result<std::vector<lease::LeaseName>> got = Error{Code::no_answer, "not answered"};
    cluster.store(node).leases_of(holder, Store::Which::active, 100,
                                  [&](Result<std::vector<lease::LeaseName>> names) { got = std::move(names); });
    cluster.pass(6s);
    return got;
}

TEST(QuorumLooks, find_a_holders_leases_at_a_majority) {
    Cluster cluster;
    cluster.cut_off(2);
    const lease::Token a = cluster.acquired(0, "a", {"alice", 60s});
    const lease::Token b = cluster.acquired(1, "b", {"alice", 60s});
    cluster.acquired(1, "c", {"bob", 60s});
    cluster.cut_off(2, false);
    cluster.cut_off(0);
    const auto names = leases_of(cluster, 2, "alice");
    ASSERT_TRUE(names);
    EXPECT_EQ(*names, (std::vector<lease::LeaseName>{{"a", a}, {"b", b}}));
}

TEST(QuorumLooks, give_up_without_a_majority) {
    Cluster cluster;
    cluster.cut_off(0);
    const auto names = leases_of(cluster, 0, "alice");
    ASSERT_FALSE(names);
    EXPECT_EQ(names.error().code, Code::unavailable);
}

TEST(QuorumLists, show_what_this_node_has_in_the_holders_measure) {
    Cluster cluster;
    cluster.acquire(0, "a", {"alice", 10s});
    cluster.deliver();
    std::optional<ListPage> page;
    cluster.store(0).list({}, [&](Result<ListPage> got) { page = *got; });
    ASSERT_TRUE(page);
    ASSERT_EQ(page->leases.size(), 1U);
    EXPECT_EQ(page->leases[0].lease.expires_at - cluster.local_time(0), 10s);
    EXPECT_EQ(cluster.store(0).active_leases(), 1U);
}

TEST(QuorumTurns, are_told_by_the_nodes_own_acceptor) {  // G6
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "r", {"alice", 60s});
    cluster.wait(1, "r", 77);
    cluster.deliver();
    cluster.forget_told(1);
    cluster.release(0, "r", token, "alice");
    cluster.deliver();
    EXPECT_EQ(cluster.told(1), std::vector<std::string>{"due r 77"});
}

TEST(QuorumTurns, are_found_out_within_seconds_when_the_node_missed_them) {  // G6
    Cluster cluster;
    const lease::Token token = cluster.acquired(0, "r", {"alice", 60s});
    cluster.wait(1, "r", 77);
    cluster.deliver();
    cluster.cut_off(1);
    cluster.release(0, "r", token, "alice");
    cluster.deliver();
    EXPECT_TRUE(cluster.told(1).empty());
    cluster.cut_off(1, false);
    cluster.pass(2s);
    ASSERT_FALSE(cluster.told(1).empty());
    EXPECT_EQ(cluster.told(1).back(), "due r 77");
}

TEST(QuorumTurns, are_asked_for_only_while_somebody_waits) {
    Cluster cluster;
    cluster.acquired(0, "r", {"alice", 5s});
    cluster.wait(1, "r", 77);
    cluster.pass(3s);
    EXPECT_TRUE(cluster.told(1).empty()) << "it is not its turn";
    const auto left = cluster.apply(1, "r", [](lease::Record& record, Instant) -> authority::Ruling<bool> {
        lease::dequeue(record, 77);
        return {true, Effect::freed};
    });
    cluster.pass(3s);
    EXPECT_EQ(left->value, true);
    const auto attempts = cluster.store(1).counts().attempts;
    cluster.pass(30s);
    EXPECT_EQ(cluster.store(1).counts().attempts, attempts);
}

TEST(QuorumTurns, are_told_to_agents_in_any_case) {  // G5: an older one may have come before
    Cluster cluster;
    cluster.acquired(0, "r", {"alice", 60s});
    cluster.wait(1, "r", 77, true);
    cluster.pass(2s);
    ASSERT_FALSE(cluster.told(1).empty());
    EXPECT_EQ(cluster.told(1).back(), "due r 77");
}

}  // namespace
}  // namespace holdfast::store::quorum
