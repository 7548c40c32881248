#include "sim/network.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

struct Post {
    Post() : network(events, scenario) {}

    /// How many of so many messages arrive, and the latest of them.
    int carry(unsigned from, unsigned to, int count, Network::Doubles doubles = Network::Doubles::never) {
        int arrived = 0;
        for (int i = 0; i < count; ++i)
            network.carry(from, to, doubles, [&, i] {
                ++arrived;
                reordered |= i < newest;
                newest = std::max(newest, i);
            });
        const TrueInstant end = events.now() + 1h;
        while (events.run_next(end)) {
        }
        return arrived;
    }

    Scenario scenario;
    EventQueue events;
    Network network;
    int newest = 0;
    bool reordered = false;
};

TEST(Network, loses_a_few_and_reorders) {
    Post post;
    const int arrived = post.carry(0, 1, 10'000);
    EXPECT_LT(arrived, 10'000);
    EXPECT_GT(arrived, 9'000);
    EXPECT_TRUE(post.reordered);
}

TEST(Network, doubles_only_what_may_be_doubled) {
    Post post;
    post.network.begin_storm();
    const int once = post.carry(0, 1, 10'000);
    const int doubled = post.carry(0, 1, 10'000, Network::Doubles::sometimes);
    EXPECT_LT(once, 10'000);
    EXPECT_GT(doubled, once + 500);
}

TEST(Network, carries_nothing_over_a_cut_and_all_the_other_way) {
    Post post;
    post.network.cut(0, 1);
    post.network.cut(0, 1);
    EXPECT_EQ(post.carry(0, 1, 100), 0);
    EXPECT_GT(post.carry(1, 0, 100), 80);
    post.network.heal(0, 1);
    EXPECT_EQ(post.carry(0, 1, 100), 0) << "cut twice, healed once";
    post.network.heal(0, 1);
    EXPECT_GT(post.carry(0, 1, 100), 80);
}

TEST(Network, carries_everything_once_it_is_calm) {
    Post post;
    post.network.cut(0, 1);
    post.network.calm_down();
    EXPECT_EQ(post.carry(0, 1, 1000, Network::Doubles::sometimes), 1000);
}

}  // namespace
}  // namespace holdfast::sim
