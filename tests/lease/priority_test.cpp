#include "lease/priority.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

TEST(Rank, is_by_priority_first) {
    EXPECT_TRUE(older({1, true, "z", 9}, {2, true, "a", 1}));
    EXPECT_FALSE(older({2, true, "a", 1}, {1, true, "z", 9}));
    EXPECT_TRUE(older({-5, false, "z", 9}, {2, true, "a", 1}));
}

TEST(Rank, of_equal_priorities_puts_agents_first_and_orders_them_by_id) {  // G5
    EXPECT_TRUE(older({1, true, "b", 9}, {1, false, "a", 1}));
    EXPECT_TRUE(older({1, true, "a", 9}, {1, true, "b", 1}));
}

TEST(Rank, of_plain_requests_and_of_one_agent_is_by_arrival) {
    EXPECT_TRUE(older({1, false, "b", 1}, {1, false, "a", 2}));
    EXPECT_TRUE(older({1, true, "a", 1}, {1, true, "a", 2}));
}

TEST(Rank, orders_any_two_different_requests_one_way_only) {
    const Rank all[] = {{1, true, "a", 1},  {1, true, "a", 2},  {1, true, "b", 3},
                        {1, false, "a", 4}, {1, false, "b", 5}, {2, true, "a", 6}};
    for (const Rank& a : all)
        for (const Rank& b : all)
            EXPECT_EQ(older(a, b) + older(b, a), &a == &b ? 0 : 1);
}

}  // namespace
}  // namespace holdfast::lease
