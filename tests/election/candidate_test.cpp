#include "election/candidate.h"

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::election {
namespace {

/// A candidate that writes down when it began and ceased to lead.
struct ConflictReport {
    ConflictReport(authority::Desk& at, const std::string& id)
        : desk(at),
          candidate({.authority = at.authority,
                     .group = "log",
                     .id = id,
                     .ttl = 10s,
                     .on_lead = [this](lease::Token term) { terms.push_back(term); },
                     .on_cease = [this] { ++ceased; }}) {}

    void tick() { candidate.advance(desk.now); }

    authority::Desk& desk;
    std::vector<lease::Token> terms;
    int ceased = 0;
    Candidate candidate;
};

/// Lets time pass in small steps, in which every candidate acts when it is due.
void pass(authority::Desk& desk, Duration time, std::initializer_list<ConflictReport*> candidates) {
    for (const Instant end = desk.now + time; desk.now < end;) {
        desk.pass(100ms);
        for (ConflictReport* one : candidates)
            one->tick();
    }
}

TEST(Candidate, leads_if_nobody_does_and_goes_on_by_renewing) {
    authority::Desk desk;
    ConflictReport one(desk, "a");
    pass(desk, 60s, {&one});
    EXPECT_EQ(one.terms.size(), 1U);
    EXPECT_EQ(one.ceased, 0);
    EXPECT_EQ(one.candidate.term(), one.terms.at(0));
}

TEST(Candidate, takes_over_with_a_higher_term_when_the_leader_is_gone) {
    authority::Desk desk;
    ConflictReport one(desk, "a"), two(desk, "b");
    pass(desk, 30s, {&one, &two});
    ASSERT_EQ(one.terms.size(), 1U);
    EXPECT_TRUE(two.terms.empty());
    pass(desk, 11s, {&two});  // the first one is paused
    ASSERT_EQ(two.terms.size(), 1U);
    EXPECT_GT(two.terms[0], one.terms[0]);
    one.tick();
    EXPECT_EQ(one.ceased, 1);
    EXPECT_FALSE(one.candidate.term());
    EXPECT_TRUE(two.candidate.term());
}

TEST(Candidate, ceases_by_its_own_clock_before_the_lease_ends) {
    authority::Desk desk;
    ConflictReport one(desk, "a");
    one.tick();
    ASSERT_EQ(one.terms.size(), 1U);
    desk.pass(9900ms - 1ns);
    one.tick();  // it renews instead
    EXPECT_EQ(one.ceased, 0);
    desk.pass(9900ms);
    one.tick();
    EXPECT_EQ(one.ceased, 1);
}

TEST(Candidate, gives_the_lease_back_at_once_when_it_withdraws) {
    authority::Desk desk;
    ConflictReport one(desk, "a"), two(desk, "b");
    pass(desk, 1s, {&one, &two});
    one.candidate.withdraw();
    desk.pass(0s);
    EXPECT_EQ(one.ceased, 1);
    EXPECT_EQ(two.terms.size(), 1U);
}

TEST(Candidate, ceases_when_an_admin_bars_its_lease_and_stands_again) {
    authority::Desk desk;
    ConflictReport one(desk, "a");
    pass(desk, 1s, {&one});
    desk.authority.bar({"leader:log", one.terms.at(0)}, [](const authority::Answer<authority::HeldLease>&) {});
    pass(desk, 10s, {&one});
    EXPECT_EQ(one.ceased, 1);
    EXPECT_EQ(one.terms.size(), 2U);
    EXPECT_TRUE(one.candidate.term());
}

TEST(Candidate, that_is_gone_leaves_nothing_behind) {
    authority::Desk desk;
    ConflictReport other(desk, "x");
    other.tick();
    {
        ConflictReport one(desk, "a");
        one.tick();
    }
    EXPECT_EQ(desk.authority.waiters(), 0U);
    other.candidate.withdraw();
    ConflictReport next(desk, "y");
    next.tick();
    EXPECT_TRUE(next.candidate.term());
}

}  // namespace
}  // namespace holdfast::election
