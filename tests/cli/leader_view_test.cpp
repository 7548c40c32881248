#include "cli/leader_view.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(LeaderView, shows_the_first_look_and_after_that_only_what_differs) {
    LeaderView nobody;
    EXPECT_TRUE(nobody.observed(std::nullopt)) << "that nobody leads is news at first";
    EXPECT_FALSE(nobody.observed(std::nullopt));
    LeaderView alice;
    EXPECT_TRUE(alice.observed(LeaderTerm{"alice", 7}));
    EXPECT_FALSE(alice.observed(LeaderTerm{"alice", 7}));
    EXPECT_TRUE(alice.observed(LeaderTerm{"alice", 9})) << "another term of the same leader";
    EXPECT_TRUE(alice.observed(std::nullopt));
}

TEST(LeaderView, follows_terms_as_they_begin_and_end) {
    LeaderView view;
    view.observed(std::nullopt);
    EXPECT_TRUE(view.began({"alice", 7}));
    EXPECT_EQ(view.term(), (LeaderTerm{"alice", 7}));
    EXPECT_TRUE(view.ended(7));
    EXPECT_EQ(view.term(), std::nullopt);
    EXPECT_TRUE(view.began({"bob", 8}));
    EXPECT_EQ(view.term()->leader, "bob");
}

TEST(LeaderView, hears_once_of_a_term_that_it_has_seen_by_looking) {
    LeaderView view;
    view.observed(LeaderTerm{"alice", 7});
    EXPECT_FALSE(view.began({"alice", 7}));
    EXPECT_TRUE(view.ended(7));
}

TEST(LeaderView, is_not_led_astray_by_events_that_come_late) {
    LeaderView view;
    view.observed(LeaderTerm{"bob", 8});
    EXPECT_FALSE(view.began({"alice", 7}));
    EXPECT_FALSE(view.ended(7));
    EXPECT_EQ(view.term()->leader, "bob");
    EXPECT_TRUE(view.ended(8));
    EXPECT_FALSE(view.began({"bob", 8})) << "a term never comes back";
    EXPECT_EQ(view.term(), std::nullopt);
}

}  // namespace
}  // namespace holdfast::cli
