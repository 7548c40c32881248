#include "server/cluster_founding.h"

#include <gtest/gtest.h>

namespace holdfast::server {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// Nodes that meet each other, each with a directory of its own.
ClusterFounding node(store::quorum::NodeIndex self, std::uint64_t directory, Numbers founders = {}) {
    return ClusterFounding({self, 3, {directory, std::move(founders), 0, {}}});
}

/// False if one of them does not talk to the other.
bool meet(ClusterFounding& a, store::quorum::NodeIndex a_index, ClusterFounding& b, store::quorum::NodeIndex b_index) {
    const auto of_a = a.own(), of_b = b.own();
    if (!a.admits(b_index, of_b) || !b.admits(a_index, of_a)) return false;
    a.met(b_index, of_b);
    b.met(a_index, of_a);
    return true;
}

void write(ClusterFounding& founding) {
    ASSERT_TRUE(founding.to_write());
    founding.written();
}

TEST(ClusterFounding, happens_once_all_members_have_met) {
    ClusterFounding a = node(0, 10), b = node(1, 20), c = node(2, 30);
    EXPECT_TRUE(meet(a, 0, b, 1));
    EXPECT_FALSE(a.to_write()) << "c has been seen by nobody";
    EXPECT_TRUE(meet(a, 0, c, 2));
    EXPECT_EQ(a.to_write(), (Numbers{10, 20, 30}));
    EXPECT_FALSE(a.founded()) << "not before it is written";
    write(a);
    EXPECT_TRUE(a.founded());
    EXPECT_FALSE(a.to_write());
    EXPECT_FALSE(b.to_write()) << "it has not met c, nor a since";
}

TEST(ClusterFounding, is_taken_over_from_a_member_that_was_founded_together_with_this_one) {
    ClusterFounding a = node(0, 10), b = node(1, 20), c = node(2, 30);
    meet(a, 0, b, 1);
    meet(a, 0, c, 2);
    write(a);
    EXPECT_TRUE(meet(a, 0, b, 1));
    EXPECT_EQ(b.to_write(), (Numbers{10, 20, 30}));
}

TEST(ClusterFounding, does_not_let_an_empty_directory_in_under_the_id_of_a_member) {
    ClusterFounding a = node(0, 10, {10, 20, 30}), b = node(1, 20, {10, 20, 30});
    ClusterFounding c = node(2, 31);
    EXPECT_TRUE(a.founded());
    EXPECT_TRUE(meet(a, 0, b, 1));
    EXPECT_FALSE(a.admits(2, c.own()));
    EXPECT_FALSE(c.admits(0, a.own())) << "and it knows by itself";
    EXPECT_FALSE(c.to_write());
    ClusterFounding back = node(2, 30, {10, 20, 30});
    EXPECT_TRUE(meet(a, 0, back, 2)) << "the directory that it had";
}

TEST(ClusterFounding, does_not_happen_without_a_member_that_has_its_directory) {
    ClusterFounding a = node(0, 10, {10, 20, 30});
    ClusterFounding b = node(1, 21), c = node(2, 31);
    EXPECT_TRUE(meet(b, 1, c, 2));
    EXPECT_FALSE(meet(a, 0, b, 1));
    EXPECT_FALSE(meet(a, 0, c, 2));
    EXPECT_FALSE(b.to_write()) << "two that lost everything are a majority, but of another cluster";
}

TEST(ClusterFounding, keeps_members_of_two_clusters_apart) {
    ClusterFounding a = node(0, 10, {10, 20, 30}), b = node(1, 20, {11, 20, 30});
    EXPECT_FALSE(meet(a, 0, b, 1));
}

TEST(ClusterFounding, lets_a_member_change_its_directory_as_long_as_nothing_was_agreed_to) {
    ClusterFounding a = node(0, 10), b = node(1, 20), first = node(2, 30), second = node(2, 31);
    EXPECT_TRUE(meet(a, 0, first, 2));
    EXPECT_TRUE(meet(a, 0, second, 2));
    EXPECT_TRUE(meet(a, 0, b, 1));
    EXPECT_EQ(a.to_write(), (Numbers{10, 20, 31}));
    EXPECT_FALSE(a.admits(2, first.own())) << "what is about to be written holds";
}

TEST(ClusterFounding, is_nothing_to_wait_for_where_there_is_one_member) {
    EXPECT_TRUE(ClusterFounding({0, 1, {10, {}, 0, {}}}).founded());
}

}  // namespace
}  // namespace holdfast::server
