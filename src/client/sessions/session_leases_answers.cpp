#include <utility>

#include "client/deadlines.h"
#include "client/sessions/session_leases.h"

namespace holdfast {

namespace {

/// How many chances long an instance is not offered a session that it did not take.
constexpr int declined_for = 30;

}  // namespace

void SessionLeases::answer(const LeaseRequest& request, const LeaseAnswer& answer, HolderInstant now) {
    end_overdue(now);
    const auto found = sessions_.find(request.session);
    if (found == sessions_.end()) return;
    Entry& one = found->second;
    one.in_flight = false;
    switch (request.ask) {
        case Ask::acquire:
            return acquire_answered(request, one, answer.kind, now);
        case Ask::renew:
            return renew_answered(request, one, answer.kind, now);
        case Ask::release:
            return release_answered(request, one, answer.kind, now);
        case Ask::read:
            return read_answered(request, one, answer, now);
    }
}

/// T3: the time runs from the sending of what was answered.
void SessionLeases::own(const LeaseRequest& request, Entry& one, HolderInstant now) {
    const std::string& session = request.session;
    const HolderInstant end = request.sent_at + rules_.ttl - skew_margin(rules_.ttl);
    if (end <= now) return read_after_failure(session, one, now);
    one.owner = rules_.instance;
    one.free_since.reset();
    ++one.verdicts;
    one.unanswered = false;
    if (!one.held()) {
        one.acquired = request.sent_at;
        one.declined_by = std::exchange(one.handed_to, {});
        one.declined_until = now + declined_for * rules_.chance;
    }
    if (one.gone && one.polls == 0) return plan(session, one, Step::release, now);
    one.end = end;
    one.renewed = request.sent_at;
    ends_.put(session, end);
    set_state(session, one, Ownership::owned);
    plan(session, one, Step::renew, next_renewal(now));
    hand_over_if_due(session, one, now);
    if (one.handing && one.polls == 0) plan(session, one, Step::release, now);
}

void SessionLeases::acquire_answered(const LeaseRequest& request, Entry& one, LeaseAnswer::Kind kind,
                                     HolderInstant now) {
    if (kind == LeaseAnswer::Kind::yes) return own(request, one, now);
    if (kind == LeaseAnswer::Kind::unanswered) return read_after_failure(request.session, one, now);
    one.free_since.reset();
    one.acquire_again = now + rules_.try_every;
    plan(request.session, one, Step::read, now);  // whose it is
}

void SessionLeases::renew_answered(const LeaseRequest& request, Entry& one, LeaseAnswer::Kind kind, HolderInstant now) {
    if (kind == LeaseAnswer::Kind::yes) return own(request, one, now);
    if (one.held()) set_state(request.session, one, Ownership::uncertain);
    if (kind == LeaseAnswer::Kind::unanswered) return read_after_failure(request.session, one, now);
    // It is another's, or the store lost it: then it is still ours by time, and nobody else's yet.
    one.renew_again = now + rules_.try_every;
    plan(request.session, one, Step::read, now);
}

void SessionLeases::release_answered(const LeaseRequest& request, Entry& one, LeaseAnswer::Kind kind,
                                     HolderInstant now) {
    if (kind == LeaseAnswer::Kind::unanswered) {
        // It may arrive late and end what is acquired meanwhile, since it knows the instance only. Stay away for as
        // long as the lease would have lasted.
        one.barred_until = now + rules_.ttl;
    } else {
        one.free_since = now;
    }
    look_again(request.session, one, now);
}

void SessionLeases::read_answered(const LeaseRequest& request, Entry& one, const LeaseAnswer& answer,
                                  HolderInstant now) {
    if (answer.kind != LeaseAnswer::Kind::owner) {
        if (one.state == Ownership::owned) set_state(request.session, one, Ownership::uncertain);
        return read_after_failure(request.session, one, now);
    }
    if (answer.owner.empty()) return found_free(request.session, one, now);
    if (answer.owner == rules_.instance) return found_ours(request.session, one, now);
    found_others(request, one, answer.owner, now);
}

void SessionLeases::found_free(const std::string& session, Entry& one, HolderInstant now) {
    if (one.held() && !(one.leaving() && one.polls == 0))
        return plan(session, one, Step::retake, std::max(now, one.acquire_again));
    if (one.held() || one.state == Ownership::other) drop(session, one, Ownership::unknown);
    one.owner.clear();
    if (!one.free_since) one.free_since = now;
    const bool at_once = (one.wanted || one.asked) && may_take(one, now) && now >= one.acquire_again;
    if (at_once) return plan(session, one, Step::attempt, now);
    look_again(session, one, now);
}

/// After an acquire whose answer was lost, or a time without connection: a renewal says how long it is still ours.
void SessionLeases::found_ours(const std::string& session, Entry& one, HolderInstant now) {
    one.owner = rules_.instance;
    if (now < one.barred_until) return plan(session, one, Step::read, one.barred_until);
    if (one.gone && one.polls == 0) return plan(session, one, Step::release, now);
    if (one.gone && !one.held()) return plan(session, one, Step::read, now + rules_.try_every);
    plan(session, one, Step::renew, std::max(now, one.renew_again));  // a store may refuse what it shows as ours
}

void SessionLeases::found_others(const LeaseRequest& request, Entry& one, const std::string& owner, HolderInstant now) {
    one.free_since.reset();
    one.handed_to.clear();
    one.declined_by.clear();
    if (one.held()) {
        drop(request.session, one, Ownership::other, owner);
    } else {
        one.owner = owner;
        set_state(request.session, one, Ownership::other);
    }
    look_again(request.session, one, now);
}

}  // namespace holdfast
