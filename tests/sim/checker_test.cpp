#include "sim/checker.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

TrueInstant at(Duration time) {
    return TrueInstant{time};
}

Checker::Grant grant(std::string holder, std::string resource, lease::Token token, Duration told, Duration until) {
    return {std::move(holder), std::move(resource), lease::Predicate::mutates, token, at(told - 10ms), at(told),
            at(until)};
}

std::string rule_of(const Checker& checker) {
    return checker.violation() ? checker.violation()->rule : "";
}

TEST(Checker, is_content_with_one_after_the_other) {
    Checker checker;
    checker.granted(grant("a", "r", 1, 1s, 5s), 0);
    checker.granted(grant("b", "r", 2, 5s, 9s), 1);
    EXPECT_EQ(rule_of(checker), "");
    EXPECT_EQ(checker.handovers(), 1U);
}

TEST(Checker, sees_two_who_believe_at_one_instant) {
    Checker checker;
    checker.granted(grant("a", "r", 1, 1s, 5s), 0);
    checker.granted(grant("b", "r", 2, 5s - 1ns, 9s), 1);
    EXPECT_EQ(rule_of(checker), "G2/T3/Q7");
}

TEST(Checker, sees_that_a_tree_and_what_lies_in_it_are_held_at_once) {
    Checker checker;
    checker.granted(grant("a", "FILE:/a/**", 1, 1s, 5s), 0);
    checker.granted(grant("b", "FILE:/b/c", 2, 2s, 5s), 1);
    EXPECT_EQ(rule_of(checker), "");
    checker.granted(grant("b", "FILE:/a/c", 3, 2s, 5s), 2);
    EXPECT_EQ(rule_of(checker), "G2/T3/Q7");
}

TEST(Checker, lets_those_share_who_may) {
    Checker checker;
    auto reader = grant("a", "r", 1, 1s, 5s);
    reader.predicate = lease::Predicate::consumes;
    checker.granted(reader, 0);
    auto other = grant("b", "r", 2, 2s, 5s);
    other.predicate = lease::Predicate::consumes;
    checker.granted(other, 1);
    EXPECT_EQ(rule_of(checker), "");
    checker.granted(grant("a", "r", 3, 3s, 5s), 2);
    EXPECT_EQ(rule_of(checker), "G2/T3/Q7");
}

TEST(Checker, believes_a_holder_that_it_has_let_go) {
    Checker checker;
    checker.granted(grant("a", "r", 1, 1s, 5s), 0);
    checker.stops_believing({"r", 1}, at(2s));
    checker.granted(grant("b", "r", 2, 2s, 9s), 1);
    EXPECT_EQ(rule_of(checker), "");
}

TEST(Checker, counts_a_renewal_as_belief) {
    Checker checker;
    checker.granted(grant("a", "r", 1, 1s, 5s), 0);
    checker.believes({"r", 1}, at(4s), at(8s));
    checker.granted(grant("b", "r", 2, 7s, 9s), 1);
    EXPECT_EQ(rule_of(checker), "G2/T3/Q7");
}

TEST(Checker, sees_a_token_that_is_not_above_those_granted_before_it_was_asked_for) {
    Checker checker;
    checker.granted(grant("a", "r", 7, 1s, 2s), 0);
    EXPECT_EQ(checker.highest_token(), 7U);
    checker.granted(grant("b", "another", 6, 3s, 4s), checker.highest_token());
    EXPECT_EQ(rule_of(checker), "G3");
}

TEST(Checker, sees_a_token_that_is_granted_twice) {
    Checker checker;
    checker.granted(grant("a", "r", 7, 1s, 2s), 0);
    checker.granted(grant("b", "another", 7, 3s, 4s), 0);
    EXPECT_EQ(rule_of(checker), "") << "of two resources, asked for at the same time";
    checker.granted(grant("b", "r", 7, 3s, 4s), 0);
    EXPECT_EQ(rule_of(checker), "G3");
}

TEST(Checker, sees_a_later_holder_with_a_lower_token_even_if_both_asked_at_once) {
    Checker checker;
    checker.granted(grant("a", "r", 7, 1s, 2s), 0);
    checker.granted(grant("b", "r", 6, 3s, 4s), 0);
    EXPECT_EQ(rule_of(checker), "G3");
}

TEST(Checker, sees_that_what_was_released_is_active) {
    Checker checker;
    checker.granted(grant("a", "r", 1, 1s, 5s), 0);
    checker.released({"r", 1}, at(2s));
    checker.found_active({"r", 1}, at(1900ms));
    EXPECT_EQ(rule_of(checker), "") << "it was asked before the release was answered";
    checker.found_active({"r", 1}, at(2s));
    EXPECT_EQ(rule_of(checker), "R2");
}

TEST(Checker, sees_that_who_is_banned_all_the_time_gets_something) {  // R7
    authority::HeldLease held;
    held.lease.ttl = 5s;
    const PolicySeen free{"a", 7, 10s, ""}, banned{"a", 8, 10s, "b1"}, again{"a", 9, 10s, "b2"};
    for (const auto& [before, after] : {std::pair{free, free}, {free, banned}, {banned, free}, {banned, again}}) {
        Checker checker;
        checker.allowed(before, after, held);
        EXPECT_EQ(rule_of(checker), "") << "there was a time at which it was allowed";
    }
    Checker checker;
    checker.allowed(banned, banned, held);
    EXPECT_EQ(rule_of(checker), "R7");
}

TEST(Checker, sees_a_lease_that_is_longer_than_a_policy_that_did_not_change) {  // G4
    authority::HeldLease held;
    held.lease.ttl = 5s;
    Checker changing;
    changing.allowed({"a", 7, 10s, ""}, {"a", 8, 4s, ""}, held);
    EXPECT_EQ(rule_of(changing), "");
    Checker checker;
    checker.allowed({"a", 7, 4s, ""}, {"a", 7, 4s, ""}, held);
    EXPECT_EQ(rule_of(checker), "R7");
}

TEST(Checker, sees_a_renewal_after_another_was_granted_it) {
    Checker checker;
    checker.granted(grant("a", "r", 1, 1s, 5s), 0);
    checker.granted(grant("b", "r", 2, 6s, 9s), 1);
    checker.found_active({"r", 1}, at(5900ms));
    EXPECT_EQ(rule_of(checker), "");
    checker.found_active({"r", 1}, at(6s));
    EXPECT_EQ(rule_of(checker), "R1/T2");
}

}  // namespace
}  // namespace holdfast::sim
