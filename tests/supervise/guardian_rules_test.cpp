#include "supervise/guardian_rules.h"

#include <gtest/gtest.h>

namespace holdfast::supervise {
namespace {

using Step = GuardianRules::Step;

constexpr HolderInstant at(Duration since_start) {
    return HolderInstant{1000s + since_start};
}

/// A lease of 60 s: asked to stop after 40, dead by 50.
GuardianRules lease_of_a_minute() {
    return GuardianRules{{.soft = at(40s), .hard = at(50s)}};
}

TEST(GuardianRules, do_nothing_before_the_soft_deadline) {
    GuardianRules rules = lease_of_a_minute();
    EXPECT_EQ(rules.step(at(40s) - 1ns), Step::none);
    EXPECT_FALSE(rules.stopping());
    EXPECT_EQ(rules.wake_at(), at(40s));
}

TEST(GuardianRules, terminate_once_at_soft_and_kill_at_hard) {
    GuardianRules rules = lease_of_a_minute();
    EXPECT_EQ(rules.step(at(40s)), Step::terminate);
    EXPECT_TRUE(rules.stopping());
    EXPECT_EQ(rules.wake_at(), at(50s));
    EXPECT_EQ(rules.step(at(41s)), Step::none);
    EXPECT_EQ(rules.step(at(50s) - 1ns), Step::none);
    EXPECT_EQ(rules.step(at(50s)), Step::kill);
    EXPECT_EQ(rules.step(at(51s)), Step::kill) << "until nothing is left";
}

TEST(GuardianRules, kill_at_once_after_sleeping_past_both_deadlines) {
    GuardianRules rules = lease_of_a_minute();
    EXPECT_EQ(rules.step(at(3h)), Step::kill);
    EXPECT_TRUE(rules.stopping());
}

TEST(GuardianRules, a_renewal_moves_both_deadlines) {
    GuardianRules rules = lease_of_a_minute();
    rules.renewed({.soft = at(60s), .hard = at(70s)});
    EXPECT_EQ(rules.step(at(59s)), Step::none);
    EXPECT_EQ(rules.wake_at(), at(60s));
    EXPECT_EQ(rules.step(at(60s)), Step::terminate);
    EXPECT_EQ(rules.step(at(70s)), Step::kill);
}

TEST(GuardianRules, a_renewal_may_shorten_the_deadlines) {
    GuardianRules rules = lease_of_a_minute();
    rules.renewed({.soft = at(10s), .hard = at(12s)});
    EXPECT_EQ(rules.step(at(10s)), Step::terminate);
    EXPECT_EQ(rules.step(at(12s)), Step::kill);
}

TEST(GuardianRules, stopping_is_never_taken_back) {
    GuardianRules rules = lease_of_a_minute();
    EXPECT_EQ(rules.step(at(40s)), Step::terminate);
    rules.renewed({.soft = at(100s), .hard = at(110s)});
    EXPECT_EQ(rules.step(at(50s)), Step::kill);
}

TEST(GuardianRules, a_lost_lease_is_terminated_at_once_with_a_short_grace) {
    GuardianRules rules = lease_of_a_minute();
    rules.lost(at(10s));
    EXPECT_EQ(rules.step(at(10s)), Step::terminate);
    EXPECT_EQ(rules.wake_at(), at(10s) + GuardianRules::grace_when_lost);
    EXPECT_EQ(rules.step(at(10s) + GuardianRules::grace_when_lost), Step::kill);
}

TEST(GuardianRules, a_dead_keeper_is_answered_at_once_with_a_longer_grace) {
    GuardianRules rules = lease_of_a_minute();
    rules.keeper_gone(at(10s));
    EXPECT_EQ(rules.step(at(10s)), Step::terminate);
    EXPECT_EQ(rules.step(at(10s) + GuardianRules::grace_when_keeper_gone - 1ns), Step::none);
    EXPECT_EQ(rules.step(at(10s) + GuardianRules::grace_when_keeper_gone), Step::kill);
}

TEST(GuardianRules, no_grace_reaches_past_the_hard_deadline) {
    GuardianRules rules = lease_of_a_minute();
    rules.keeper_gone(at(48s));
    EXPECT_EQ(rules.step(at(48s)), Step::terminate);
    EXPECT_EQ(rules.wake_at(), at(50s));
    EXPECT_EQ(rules.step(at(50s)), Step::kill);
}

TEST(GuardianRules, the_shorter_of_two_graces_counts) {
    GuardianRules rules = lease_of_a_minute();
    rules.keeper_gone(at(10s));
    rules.lost(at(11s));
    EXPECT_EQ(rules.step(at(12s)), Step::kill);
    GuardianRules other = lease_of_a_minute();
    other.lost(at(10s));
    other.keeper_gone(at(10s) + 500ms);
    EXPECT_EQ(other.step(at(11s)), Step::kill) << "a later, longer grace does not extend an earlier one";
}

TEST(GuardianRules, stop_when_the_keeper_says_so_and_kill_when_it_says_so) {
    GuardianRules rules = lease_of_a_minute();
    rules.stop(at(20s));
    EXPECT_EQ(rules.step(at(10s)), Step::terminate);
    EXPECT_EQ(rules.wake_at(), at(20s));
    EXPECT_EQ(rules.step(at(20s)), Step::kill);
    GuardianRules late = lease_of_a_minute();
    late.stop(at(10h));
    EXPECT_EQ(late.wake_at(), at(50s)) << "never past the hard deadline";
}

TEST(GuardianRules, a_hard_stop_hurries_a_soft_one) {
    GuardianRules rules = lease_of_a_minute();
    rules.stop(at(50s));
    EXPECT_EQ(rules.step(at(10s)), Step::terminate);
    rules.stop(at(11s));
    EXPECT_EQ(rules.step(at(11s)), Step::kill);
}

TEST(GuardianRules, processes_that_a_command_left_are_asked_once_and_get_a_grace) {
    GuardianRules rules = lease_of_a_minute();
    rules.command_ended(at(10s));
    EXPECT_FALSE(rules.stopping()) << "the lease is not what ended it";
    EXPECT_EQ(rules.step(at(10s)), Step::terminate);
    EXPECT_EQ(rules.step(at(11s)), Step::none);
    EXPECT_EQ(rules.wake_at(), at(10s) + GuardianRules::grace_when_command_ended);
    EXPECT_EQ(rules.step(at(10s) + GuardianRules::grace_when_command_ended), Step::kill);
    EXPECT_FALSE(rules.stopping());
}

/// The ways of being told to stop, each at 10 s.
struct Told {
    const char* name;
    void (*tell)(GuardianRules&);
    HolderInstant dead_by;
};

class ToldToStop : public testing::TestWithParam<Told> {};

TEST_P(ToldToStop, a_leader_that_ends_leaves_the_others_their_deadline) {
    GuardianRules rules = lease_of_a_minute();
    GetParam().tell(rules);
    EXPECT_EQ(rules.step(at(40s) > GetParam().dead_by ? at(10s) : at(40s)), Step::terminate);
    const HolderInstant before = rules.kill_at();
    EXPECT_EQ(before, GetParam().dead_by);
    rules.command_ended(at(10s) + 1ms);
    EXPECT_EQ(rules.kill_at(), before);
    EXPECT_EQ(rules.step(before - 1ns), Step::none) << "and nobody is asked twice";
    EXPECT_EQ(rules.step(before), Step::kill);
}

INSTANTIATE_TEST_SUITE_P(All, ToldToStop,
                         testing::Values(Told{"soft_deadline", [](GuardianRules&) {}, at(50s)},
                                         Told{"stop", [](GuardianRules& rules) { rules.stop(at(50s)); }, at(50s)},
                                         Told{"stop_soon", [](GuardianRules& rules) { rules.stop(at(30s)); }, at(30s)},
                                         Told{"lost", [](GuardianRules& rules) { rules.lost(at(10s)); }, at(11s)},
                                         Told{"keeper_gone", [](GuardianRules& rules) { rules.keeper_gone(at(10s)); },
                                              at(15s)}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(GuardianRules, a_command_that_a_signal_asked_to_end_takes_its_time) {
    GuardianRules rules = lease_of_a_minute();
    rules.asked();
    EXPECT_EQ(rules.step(at(10s)), Step::none);
    rules.renewed({.soft = at(60s), .hard = at(70s)});
    EXPECT_EQ(rules.step(at(45s)), Step::none) << "it is renewed meanwhile";
    EXPECT_FALSE(rules.stopping());
    EXPECT_EQ(rules.step(at(60s)), Step::terminate);
}

TEST(GuardianRules, a_command_that_ends_as_a_signal_asked_leaves_the_others_a_minute) {
    GuardianRules rules = lease_of_a_minute();
    rules.asked();
    rules.command_ended(at(10s));
    EXPECT_EQ(rules.step(at(10s)), Step::terminate) << "for those that the signal did not reach";
    rules.renewed({.soft = at(100s), .hard = at(110s)});
    EXPECT_EQ(rules.kill_at(), at(10s) + GuardianRules::grace_when_asked);
    EXPECT_EQ(rules.step(at(10s) + GuardianRules::grace_when_asked - 1ns), Step::none);
    EXPECT_EQ(rules.step(at(10s) + GuardianRules::grace_when_asked), Step::kill);
}

TEST(GuardianRules, processes_that_outlive_the_command_still_obey_the_lease) {
    GuardianRules rules = lease_of_a_minute();
    rules.asked();
    rules.command_ended(at(30s));
    EXPECT_EQ(rules.step(at(30s)), Step::terminate);
    EXPECT_EQ(rules.step(at(40s)), Step::none);
    EXPECT_TRUE(rules.stopping());
    EXPECT_EQ(rules.step(at(50s)), Step::kill) << "no grace reaches past the hard deadline";
}

TEST(GuardianRules, a_soft_deadline_after_the_hard_one_is_drawn_in) {
    GuardianRules rules{{.soft = at(20s), .hard = at(10s)}};
    EXPECT_EQ(rules.wake_at(), at(10s));
    EXPECT_EQ(rules.step(at(10s)), Step::kill);
}

}  // namespace
}  // namespace holdfast::supervise
