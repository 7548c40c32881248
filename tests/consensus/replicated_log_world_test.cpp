#include <gtest/gtest.h>

#include "consensus/log_world.h"
#include "consensus/replicated_log.h"

namespace holdfast::consensus {
namespace {

using Values = std::vector<std::string>;

/// Three nodes of which the first leads.
class ThreeNodes : public testing::Test {
 protected:
    ThreeNodes() {
        world_.lead(0);
        world_.quiet();
    }
    ~ThreeNodes() override { EXPECT_EQ(world_.violation().value_or(""), ""); }

    bool acknowledged(int number) const { return world_.outcome(number) && *world_.outcome(number); }
    std::string refusal(int number) const {
        const auto outcome = world_.outcome(number);
        return outcome && !*outcome ? std::string(outcome->error().code.name()) : "";
    }
    void expect_everywhere(const Values& values) {
        for (store::quorum::NodeIndex node = 0; node < 3; ++node)
            EXPECT_EQ(world_.applied(node), values) << "node " << int{node};
    }

    LogWorld world_{{.nodes = 3, .entries_before_snapshot = 8}};
};

TEST(ReplicatedLog, of_a_single_node_answers_as_soon_as_its_own_disk_says_so) {
    LogWorld world({.nodes = 1});
    world.lead(0);
    EXPECT_FALSE(world.log(0).leads()) << "not before its promise is durable";
    world.quiet();
    EXPECT_TRUE(world.log(0).leads());
    const int number = world.submit(0);
    EXPECT_FALSE(world.outcome(number));
    world.disk(0).complete(false);
    ASSERT_TRUE(world.outcome(number));
    EXPECT_EQ(**world.outcome(number), 1U);
}

TEST(ReplicatedLog, of_a_single_node_has_everything_after_a_restart_before_anybody_leads) {
    LogWorld world({.nodes = 1, .entries_before_snapshot = 3});
    world.lead(0);
    for (int i = 0; i < 5; ++i) {
        world.submit(0);
        world.quiet();
    }
    world.crash(0);
    world.restart(0);
    EXPECT_EQ(world.applied(0), (Values{"v1", "v2", "v3", "v4", "v5"}));
    EXPECT_FALSE(world.log(0).leads());
    EXPECT_EQ(world.violation().value_or(""), "");
}

TEST_F(ThreeNodes, acknowledge_once_a_majority_has_it_durably) {
    world_.stall(1);
    world_.stall(2);
    const int number = world_.submit(0);
    world_.quiet();
    EXPECT_FALSE(world_.outcome(number)) << "one disk is no majority";
    world_.stall(2, false);
    world_.quiet();
    EXPECT_TRUE(acknowledged(number));
}

TEST_F(ThreeNodes, go_on_while_the_leaders_own_disk_stalls) {
    world_.stall(0);
    const int number = world_.submit(0);
    world_.quiet();
    EXPECT_TRUE(acknowledged(number));
    EXPECT_TRUE(world_.log(0).leads()) << "L2";
    world_.crash(0);
    world_.restart(0);
    world_.lead(1);
    world_.quiet();
    world_.stall(0, false);
    world_.pass(10s);
    world_.quiet();
    expect_everywhere({"v1"});
}

TEST_F(ThreeNodes, take_a_submission_on_any_node_and_answer_when_it_is_applied_there) {
    const int number = world_.submit(2);
    EXPECT_FALSE(world_.outcome(number));
    world_.quiet();
    EXPECT_TRUE(acknowledged(number));
    expect_everywhere({"v1"});
    EXPECT_EQ(world_.log(2).leader(), 0);
}

TEST_F(ThreeNodes, append_with_several_in_flight) {
    world_.stall(0);
    world_.stall(1);
    world_.stall(2);
    for (int i = 0; i < 5; ++i)
        world_.submit(0);
    world_.quiet();
    for (store::quorum::NodeIndex node = 0; node < 3; ++node)
        world_.stall(node, false);
    world_.quiet();
    expect_everywhere({"v1", "v2", "v3", "v4", "v5"});
}

TEST_F(ThreeNodes, say_unavailable_where_nobody_is_known_to_lead) {
    world_.log(1).follow(std::nullopt);
    EXPECT_EQ(refusal(world_.submit(1)), "unavailable");
    world_.log(0).follow(std::nullopt);
    EXPECT_EQ(refusal(world_.submit(0)), "unavailable");
    EXPECT_FALSE(world_.log(0).leads());
}

TEST_F(ThreeNodes, say_unavailable_if_the_leader_does_not_answer_in_time) {
    world_.isolate(0);
    const int here = world_.submit(0);
    const int there = world_.submit(1);
    world_.quiet();
    world_.pass(4s);
    EXPECT_FALSE(world_.outcome(here));
    world_.pass(1s);
    EXPECT_EQ(refusal(here), "unavailable");
    EXPECT_EQ(refusal(there), "unavailable");
}

TEST_F(ThreeNodes, a_new_leader_completes_what_a_majority_had_accepted) {
    world_.submit(0);
    world_.stall(0);
    world_.stall(1);
    world_.quiet();
    // Node 2 alone has it durably when the leader is lost; another majority with node 2 must bring it back.
    world_.crash(0);
    world_.stall(1, false);
    world_.lead(1);
    world_.quiet();
    EXPECT_TRUE(world_.log(1).leads());
    EXPECT_EQ(world_.applied(1), Values{"v1"});
    EXPECT_EQ(world_.applied(2), Values{"v1"});
}

TEST_F(ThreeNodes, a_deposed_leader_is_refused_and_leads_no_more) {
    world_.cut(0, 1);
    world_.cut(1, 0);
    world_.lead(1);
    for (int i = 0; i < 3; ++i)
        world_.quiet();
    EXPECT_TRUE(world_.log(1).leads());
    EXPECT_TRUE(world_.log(0).leads()) << "it has not heard yet";
    const int number = world_.submit(0);
    world_.quiet();
    EXPECT_FALSE(world_.log(0).leads());
    EXPECT_EQ(refusal(number), "unavailable");
    EXPECT_EQ(world_.applied(2), Values{});
}

TEST_F(ThreeNodes, a_lower_term_does_not_lead) {
    world_.log(1).lead(1);
    world_.quiet();
    EXPECT_FALSE(world_.log(1).leads());
    EXPECT_TRUE(world_.log(0).leads());
    EXPECT_EQ(world_.log(1).leader(), 0);
}

TEST_F(ThreeNodes, to_be_told_twice_to_lead_changes_nothing) {
    const int number = world_.submit(0);
    world_.log(0).lead(101);
    EXPECT_TRUE(world_.log(0).leads());
    world_.quiet();
    EXPECT_TRUE(acknowledged(number));
}

TEST_F(ThreeNodes, a_node_that_lags_is_brought_along) {
    world_.isolate(2);
    for (int i = 0; i < 5; ++i)
        world_.submit(0);
    world_.quiet();
    EXPECT_EQ(world_.applied(2), Values{});
    world_.isolate(2, false);
    world_.pass(5s);
    world_.quiet();
    expect_everywhere({"v1", "v2", "v3", "v4", "v5"});
    EXPECT_EQ(world_.seen().installs, 0);
    EXPECT_EQ(world_.log(0).durable_on(2), 5U);
}

TEST_F(ThreeNodes, a_node_that_lags_far_gets_a_snapshot) {
    world_.isolate(2);
    Values all;
    for (int i = 1; i <= 20; ++i) {
        world_.submit(0);
        world_.quiet();
        all.push_back("v" + std::to_string(i));
    }
    EXPECT_LE(world_.disk(0).found().decrees.size(), 8U) << "what is applied is folded";
    world_.crash(2);
    world_.isolate(2, false);
    world_.restart(2);
    world_.log(2).follow(0);
    world_.quiet();
    world_.pass(1s);
    world_.quiet();
    EXPECT_EQ(world_.seen().installs, 1);
    expect_everywhere(all);
}

TEST_F(ThreeNodes, a_leader_that_lagged_learns_all_from_those_who_promise) {
    world_.isolate(2);
    for (int i = 0; i < 20; ++i) {
        world_.submit(0);
        world_.quiet();
    }
    world_.isolate(2, false);
    world_.lead(2);
    world_.quiet();
    EXPECT_TRUE(world_.log(2).leads());
    EXPECT_EQ(world_.applied(2).size(), 20U);
}

TEST_F(ThreeNodes, survive_disks_that_fail_for_a_while) {
    for (store::quorum::NodeIndex node = 0; node < 3; ++node)
        world_.fail_writes(node);
    const int through_leader = world_.submit(0);
    const int through_other = world_.submit(1);
    for (int i = 0; i < 4; ++i) {
        world_.quiet();
        world_.pass(500ms);
    }
    EXPECT_EQ(refusal(through_leader), "storage_failed") << "nobody waits for disks that refuse";
    EXPECT_EQ(refusal(through_other), "storage_failed");
    for (store::quorum::NodeIndex node = 0; node < 3; ++node)
        world_.fail_writes(node, false);
    for (int i = 0; i < 4; ++i) {
        world_.pass(500ms);
        world_.quiet();
    }
    expect_everywhere({"v1", "v2"});
    const int after = world_.submit(1);
    world_.quiet();
    EXPECT_TRUE(acknowledged(after));
}

TEST_F(ThreeNodes, bound_what_waits) {
    world_.isolate(0);
    int last = 0;
    for (std::size_t i = 0; i < ReplicatedLog::max_submissions; ++i)
        last = world_.submit(0);
    EXPECT_FALSE(world_.outcome(last));
    EXPECT_EQ(refusal(world_.submit(0)), "too_many");
    world_.quiet();
    EXPECT_LE(world_.disk(0).found().decrees.size(), ReplicatedLog::max_entries_in_flight);
    world_.isolate(0, false);
    world_.pass(1s);
    world_.quiet();
    EXPECT_TRUE(acknowledged(last));
}

TEST_F(ThreeNodes, refuse_an_entry_that_is_too_large) {
    ErrorCode code;
    world_.log(0).append(std::string(ReplicatedLog::max_value_bytes + 1, 'x'),
                         [&](const Result<LogIndex>& outcome) { code = outcome.error().code; });
    EXPECT_EQ(code, Code::too_large);
}

TEST(ReplicatedLog, an_answer_may_append_the_next) {
    LogWorld world({.nodes = 1});
    world.lead(0);
    world.quiet();
    std::vector<LogIndex> places;
    world.log(0).append("first", [&](const Result<LogIndex>& first) {
        places.push_back(*first);
        world.log(0).append("second", [&](const Result<LogIndex>& second) { places.push_back(*second); });
    });
    world.quiet();
    EXPECT_EQ(places, (std::vector<LogIndex>{1, 2}));
}

}  // namespace
}  // namespace holdfast::consensus
