#include "client/sessions/session_leases.h"

#include <functional>
#include <gtest/gtest.h>

#include "base/rendezvous.h"
#include "lease/skew_margin.h"

namespace holdfast::client::sessions {
namespace {

constexpr HolderInstant start{1000s};
const std::string me = "me-1-00000001";
const std::string other = "other-2-00000002";

/// A session that is preferred by one of the two.
std::string session_preferred_by(const std::string& whom, int skip = 0) {
    for (int i = 0;; ++i) {
        const std::string session = "session-" + std::to_string(i);
        if (preferred_owner({me, other}, session) == whom && skip-- == 0) return session;
    }
}

class SessionLeasesTest : public testing::Test {
 protected:
    SessionLeases leases{{.instance = me}, start};
    const std::string mine = session_preferred_by(me);
    const std::string theirs = session_preferred_by(other);
    HolderInstant now = start;

    /// The one request that is due.
    LeaseRequest due() {
        const auto requests = leases.take_due(now, 100);
        EXPECT_EQ(requests.size(), 1U);
        return requests.empty() ? LeaseRequest{} : requests[0];
    }
    void nothing_due() { EXPECT_TRUE(leases.take_due(now, 100).empty()); }
    LeaseRequest expect(Ask ask) {
        const auto request = due();
        EXPECT_EQ(request.ask, ask);
        return request;
    }
    void say(const LeaseRequest& request, LeaseAnswer::Kind kind) { leases.answer(request, {kind}, now); }
    void say_owner(const LeaseRequest& request, const std::string& owner) {
        leases.answer(request, {LeaseAnswer::Kind::owner, owner}, now);
    }
    void yes(Ask ask) { say(expect(ask), LeaseAnswer::Kind::yes); }
    void unanswered(Ask ask) { say(expect(ask), LeaseAnswer::Kind::unanswered); }
    void to_next() { now = std::max(now, leases.next()); }
    /// It is only looked at, and found free, until then.
    void is_left_free_until(HolderInstant then) {
        for (to_next(); now < then; to_next())
            say_owner(expect(Ask::read), "");
        EXPECT_EQ(now, then);
    }
    /// How often it asks in a time, with this said each time.
    int requests_within(Duration time, const std::function<LeaseAnswer(const LeaseRequest&)>& store) {
        int requests = 0;
        for (const HolderInstant end = now + time; now < end && requests < 10'000;
             now = std::min(end, std::max(now, leases.next())))
            for (const auto& request : leases.take_due(now, 100)) {
                ++requests;
                leases.answer(request, store(request), now);
            }
        return requests;
    }

    Ownership state(const std::string& session) const {
        const auto* found = leases.find(session);
        return found == nullptr ? Ownership::unknown : found->state;
    }
    void own_mine() {
        leases.set_live({me, other}, now);
        leases.want(mine, now);
        yes(Ask::acquire);
        ASSERT_EQ(state(mine), Ownership::owned);
    }
};

TEST_F(SessionLeasesTest, takes_nothing_before_it_knows_who_lives) {
    leases.want(mine, now);
    say_owner(expect(Ask::read), "");
    EXPECT_EQ(state(mine), Ownership::unknown);
    leases.set_live({me, other}, now);
    yes(Ask::acquire);
    EXPECT_EQ(state(mine), Ownership::owned);
}

TEST_F(SessionLeasesTest, counts_from_the_sending_and_ends_before_the_store_does) {
    leases.set_live({me}, now);
    leases.want(mine, now);
    const auto request = expect(Ask::acquire);
    now += 4s;
    say(request, LeaseAnswer::Kind::yes);
    EXPECT_EQ(leases.find(mine)->deadlines.end(), start + 30s - lease::skew_margin(30s));
}

TEST_F(SessionLeasesTest, does_not_believe_a_grant_that_came_too_late) {
    leases.set_live({me}, now);
    leases.want(mine, now);
    const auto request = expect(Ask::acquire);
    now += 30s;
    say(request, LeaseAnswer::Kind::yes);
    EXPECT_NE(state(mine), Ownership::owned);
}

TEST_F(SessionLeasesTest, renews_at_whole_intervals_so_that_all_go_together) {
    now += 3s;
    own_mine();
    EXPECT_EQ(leases.next(), start + 10s);
    to_next();
    yes(Ask::renew);
    EXPECT_EQ(leases.find(mine)->deadlines.end(), start + 40s - lease::skew_margin(30s));
    EXPECT_EQ(leases.next(), start + 20s);
}

TEST_F(SessionLeasesTest, remembers_when_it_was_acquired_and_when_renewed) {
    now += 3s;
    own_mine();
    EXPECT_EQ(leases.find(mine)->acquired, start + 3s);
    EXPECT_EQ(leases.find(mine)->renewed, start + 3s);
    to_next();
    yes(Ask::renew);
    EXPECT_EQ(leases.find(mine)->acquired, start + 3s);
    EXPECT_EQ(leases.find(mine)->renewed, start + 10s);
}

TEST_F(SessionLeasesTest, says_with_each_change_whose_the_session_is_then) {
    own_mine();
    auto changes = leases.take_changes();
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].owner, me);
    to_next();
    say(expect(Ask::renew), LeaseAnswer::Kind::no);
    say_owner(expect(Ask::read), other);
    changes = leases.take_changes();
    ASSERT_FALSE(changes.empty());
    EXPECT_EQ(changes.back().to, Ownership::other);
    EXPECT_EQ(changes.back().owner, other);
    now += 10s;
    say(expect(Ask::acquire), LeaseAnswer::Kind::no);
    say_owner(expect(Ask::read), "");
    changes = leases.take_changes();
    ASSERT_FALSE(changes.empty());
    EXPECT_EQ(changes.back().to, Ownership::unknown);
    EXPECT_EQ(changes.back().owner, "");
}

TEST_F(SessionLeasesTest, prefers_by_the_hash_that_it_is_told) {
    const std::set<std::string> live{me, other};
    std::string session;
    for (int i = 0; session.empty(); ++i) {
        const std::string name = "session-" + std::to_string(i);
        if (preferred_owner(live, name) == other && preferred_owner(live, name, RendezvousHash::fnv1a) == me)
            session = name;
    }
    SessionLeases by_fnv1a{{.instance = me, .hash = RendezvousHash::fnv1a}, start};
    by_fnv1a.set_live(live, now);
    by_fnv1a.want(session, now);
    EXPECT_EQ(by_fnv1a.find(session)->preferred, me);
    by_fnv1a.set_live({me}, now);
    by_fnv1a.set_live(live, now);
    EXPECT_EQ(by_fnv1a.find(session)->preferred, me);
}

TEST_F(SessionLeasesTest, leaves_a_free_session_to_its_preferred_owner_for_a_chance) {
    leases.set_live({me, other}, now);
    leases.want(theirs, now);
    say_owner(expect(Ask::read), "");
    is_left_free_until(start + 10s);
    yes(Ask::acquire);
    EXPECT_EQ(state(theirs), Ownership::owned);
}

TEST_F(SessionLeasesTest, gives_the_preferred_owner_a_new_chance_each_time) {
    leases.set_live({me, other}, now);
    leases.want(theirs, now);
    say_owner(expect(Ask::read), "");
    now += 8s;
    leases.ask_for(theirs, now);
    say_owner(expect(Ask::read), other);
    EXPECT_EQ(state(theirs), Ownership::other);
    now += 10s;
    say_owner(expect(Ask::read), "");
    EXPECT_EQ(state(theirs), Ownership::unknown) << "seen free for the first time since";
    is_left_free_until(now + 10s);
    yes(Ask::acquire);
}

TEST_F(SessionLeasesTest, gives_whoever_becomes_preferred_a_chance_too) {
    const std::string third = "third-3-00000003";
    std::string session;
    for (int i = 0; session.empty(); ++i)
        if (const auto name = std::to_string(i);
            preferred_owner({me, other, third}, name) == third && preferred_owner({me, other}, name) == other)
            session = name;
    leases.set_live({me, other, third}, now);
    leases.want(session, now);
    say_owner(expect(Ask::read), "");
    is_left_free_until(start + 7s);
    leases.set_live({me, other}, now);
    say_owner(expect(Ask::read), "");
    is_left_free_until(start + 17s);
    yes(Ask::acquire);
}

TEST_F(SessionLeasesTest, does_not_jump_in_while_a_session_is_handed_on_to_its_preferred_owner) {
    leases.set_live({me, other}, now);
    leases.want(theirs, now);
    say_owner(expect(Ask::read), "");
    is_left_free_until(start + 5s);
    say_owner(expect(Ask::read), "third-3-00000003");
    now = leases.next();
    say_owner(expect(Ask::read), "");
    is_left_free_until(now + 10s);
    yes(Ask::acquire);
}

TEST_F(SessionLeasesTest, hands_over_what_another_is_preferred_for_after_the_poll_in_hand) {
    leases.set_live({me}, now);
    leases.want(theirs, now);
    yes(Ask::acquire);
    ASSERT_TRUE(leases.begin_poll(theirs, now));
    leases.set_live({me, other}, now);
    nothing_due();
    EXPECT_FALSE(leases.begin_poll(theirs, now)) << "no new poll begins";
    now = start + 10s;
    yes(Ask::renew);
    EXPECT_EQ(state(theirs), Ownership::owned) << "for as long as the poll takes";
    leases.end_poll(theirs, now);
    const auto release = expect(Ask::release);
    EXPECT_EQ(state(theirs), Ownership::unknown) << "before it is sent";
    say(release, LeaseAnswer::Kind::yes);
    nothing_due();
    is_left_free_until(start + 20s);  // its preferred owner has a chance
    say(expect(Ask::acquire), LeaseAnswer::Kind::no);
    say_owner(expect(Ask::read), other);
    EXPECT_EQ(state(theirs), Ownership::other);
}

TEST_F(SessionLeasesTest, keeps_what_its_preferred_owner_did_not_take) {
    leases.set_live({me}, now);
    leases.want(theirs, now);
    yes(Ask::acquire);
    leases.set_live({me, other}, now);
    yes(Ask::release);
    now += 10s;
    yes(Ask::acquire);
    now += 10s;
    yes(Ask::renew);
    EXPECT_EQ(state(theirs), Ownership::owned) << "and does not offer it again at once";
}

TEST_F(SessionLeasesTest, keeps_a_session_when_its_preferred_owner_goes_while_the_poll_ends) {
    leases.set_live({me}, now);
    leases.want(theirs, now);
    yes(Ask::acquire);
    ASSERT_TRUE(leases.begin_poll(theirs, now));
    leases.set_live({me, other}, now);
    leases.set_live({me}, now);
    leases.end_poll(theirs, now);
    nothing_due();
    EXPECT_TRUE(leases.begin_poll(theirs, now));
}

TEST_F(SessionLeasesTest, is_uncertain_after_an_error_and_looks_before_it_goes_on) {
    own_mine();
    now = start + 10s;
    unanswered(Ask::renew);
    EXPECT_EQ(state(mine), Ownership::uncertain);
    to_next();
    say_owner(expect(Ask::read), me);
    EXPECT_EQ(state(mine), Ownership::uncertain) << "how long it lasts is not known";
    yes(Ask::renew);
    EXPECT_EQ(state(mine), Ownership::owned);
}

TEST_F(SessionLeasesTest, drops_what_turns_out_to_be_anothers) {
    own_mine();
    now = start + 10s;
    unanswered(Ask::renew);
    to_next();
    say_owner(expect(Ask::read), other);
    EXPECT_EQ(state(mine), Ownership::other);
    EXPECT_EQ(leases.find(mine)->owner, other);
}

TEST_F(SessionLeasesTest, ends_at_the_deadline_in_any_case) {
    own_mine();
    now = start + 10s;
    unanswered(Ask::renew);
    while (now < start + 29s) {
        to_next();
        if (leases.find(mine)->held() && now < leases.find(mine)->deadlines.end()) unanswered(Ask::read);
    }
    now = start + 30s - lease::skew_margin(30s);
    leases.end_overdue(now);
    EXPECT_EQ(state(mine), Ownership::unknown);
    EXPECT_FALSE(leases.begin_poll(mine, now));
}

TEST_F(SessionLeasesTest, takes_back_what_the_store_lost_while_others_wait) {
    own_mine();
    const std::string second = session_preferred_by(me, 1);
    leases.take_nothing_until(now + 30s);
    leases.want(second, now);
    say_owner(expect(Ask::read), "");
    EXPECT_NE(state(second), Ownership::owned) << "somebody may still own it";
    now = start + 10s;
    for (const auto& request : leases.take_due(now, 100)) {
        EXPECT_EQ(request.ask, request.session == mine ? Ask::renew : Ask::read);
        if (request.session == mine)
            say(request, LeaseAnswer::Kind::no);
        else
            say_owner(request, "");
    }
    say_owner(expect(Ask::read), "");
    yes(Ask::acquire);
    EXPECT_EQ(state(mine), Ownership::owned);
}

TEST_F(SessionLeasesTest, stays_away_after_a_release_that_nobody_answered) {
    own_mine();
    leases.set_live({other}, now);
    unanswered(Ask::release);
    leases.set_live({me}, now);
    say_owner(expect(Ask::read), "");
    for (HolderInstant end = now + 29s; now < end; to_next()) {
        for (const auto& request : leases.take_due(now, 100)) {
            ASSERT_EQ(request.ask, Ask::read) << "the release may still be on its way";
            say_owner(request, "");
        }
    }
    now += 2s;
    yes(Ask::acquire);
}

TEST_F(SessionLeasesTest, gives_everything_back_when_it_retires) {
    own_mine();
    ASSERT_TRUE(leases.begin_poll(mine, now));
    const std::string second = session_preferred_by(me, 1);
    leases.want(second, now);
    yes(Ask::acquire);
    leases.retire(now);
    const auto release = expect(Ask::release);
    EXPECT_EQ(release.session, second);
    say(release, LeaseAnswer::Kind::yes);
    EXPECT_EQ(leases.size(), 1U);
    EXPECT_TRUE(leases.only_polls_left());
    leases.end_poll(mine, now);
    yes(Ask::release);
    EXPECT_EQ(leases.size(), 0U);
    leases.want(mine, now);
    nothing_due();
}

TEST_F(SessionLeasesTest, releases_what_was_granted_after_it_was_let_go_of) {
    leases.set_live({me}, now);
    leases.want(mine, now);
    const auto request = expect(Ask::acquire);
    leases.let_go(mine, now);
    say(request, LeaseAnswer::Kind::yes);
    EXPECT_NE(state(mine), Ownership::owned);
    yes(Ask::release);
    EXPECT_EQ(leases.size(), 0U);
}

TEST_F(SessionLeasesTest, forgets_what_was_only_tried_for) {
    leases.set_live({me, other}, now);
    leases.ask_for(theirs, now);
    say_owner(expect(Ask::read), other);
    EXPECT_EQ(leases.size(), 1U);
    to_next();
    nothing_due();
    EXPECT_EQ(leases.size(), 0U);
}

TEST_F(SessionLeasesTest, counts_a_poll_that_outlives_its_session) {
    leases.set_live({me}, now);
    leases.ask_for(theirs, now);
    yes(Ask::acquire);
    ASSERT_TRUE(leases.begin_poll(theirs, now));
    now += 30s;
    say_owner(expect(Ask::read), other);
    EXPECT_EQ(requests_within(10min, [](const LeaseRequest&) { return LeaseAnswer{}; }), 0);
    leases.ask_for(theirs, now);
    yes(Ask::acquire);
    EXPECT_EQ(leases.find(theirs)->polls, 1) << "of the turn before, still at work";
    leases.end_poll(theirs, now);
    EXPECT_EQ(leases.find(theirs)->polls, 0);
}

// What no store should answer must not make it ask without pause.

TEST_F(SessionLeasesTest, is_patient_with_a_store_that_refuses_what_it_shows_as_free) {
    leases.set_live({me}, now);
    leases.want(mine, now);
    const auto store = [](const LeaseRequest& request) {
        return LeaseAnswer{request.ask == Ask::read ? LeaseAnswer::Kind::owner : LeaseAnswer::Kind::no};
    };
    EXPECT_LE(requests_within(60s, store), 130);
    EXPECT_NE(state(mine), Ownership::owned);
}

TEST_F(SessionLeasesTest, is_patient_with_a_store_that_refuses_to_renew_what_it_shows_as_ours) {
    own_mine();
    const auto store = [](const LeaseRequest& request) {
        return request.ask == Ask::read ? LeaseAnswer{LeaseAnswer::Kind::owner, me}
                                        : LeaseAnswer{LeaseAnswer::Kind::no};
    };
    EXPECT_LE(requests_within(60s, store), 130);
    EXPECT_EQ(state(mine), Ownership::unknown) << "its deadline has passed";
}

TEST_F(SessionLeasesTest, is_patient_with_a_store_that_lost_a_session_and_refuses_it) {
    own_mine();
    const auto store = [](const LeaseRequest& request) {
        return LeaseAnswer{request.ask == Ask::read ? LeaseAnswer::Kind::owner : LeaseAnswer::Kind::no};
    };
    EXPECT_LE(requests_within(60s, store), 130);
}

TEST_F(SessionLeasesTest, is_patient_with_a_store_that_answers_only_with_errors) {
    own_mine();
    EXPECT_LE(requests_within(60s, [](const LeaseRequest&) { return LeaseAnswer{}; }), 130);
    EXPECT_EQ(state(mine), Ownership::unknown);
}

}  // namespace
}  // namespace holdfast::client::sessions
