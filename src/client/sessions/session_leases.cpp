#include "client/sessions/session_leases.h"

#include <algorithm>
#include <utility>

#include "base/rendezvous.h"

namespace holdfast::client::sessions {
namespace {

/// How long a session that was requested once is remembered, in multiples of `chance`.
constexpr int memory = 3;

}  // namespace

SessionLeases::Entry& SessionLeases::entry(const std::string& session) {
    const auto [at, made] = sessions_.try_emplace(session);
    if (made) at->second.preferred = preferred_owner(live_, session, rules_.hash);
    return at->second;
}

void SessionLeases::want(const std::string& session, HolderInstant now) {
    if (retired_) return;
    Entry& one = entry(session);
    one.wanted = true;
    one.gone = false;
    if (one.in_flight) return;
    if (one.held())
        plan(session, one, Step::renew, next_renewal(now));
    else
        plan(session, one, Step::attempt, now);
}

void SessionLeases::ask_for(const std::string& session, HolderInstant now) {
    if (retired_) return;
    Entry& one = entry(session);
    one.asked = true;
    if (std::exchange(one.gone, false) && one.held()) plan(session, one, Step::renew, next_renewal(now));
    if (!one.held() && !one.in_flight) plan(session, one, Step::attempt, now);
}

bool SessionLeases::is_tried_for(const std::string& session) const {
    const auto found = sessions_.find(session);
    if (found == sessions_.end() || found->second.gone) return false;
    const Entry& one = found->second;
    return one.held() || one.wanted || one.asked || one.in_flight;
}

void SessionLeases::let_go(const std::string& session, HolderInstant now) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    Entry& one = found->second;
    one.wanted = one.asked = false;
    one.gone = true;
    if (one.in_flight || one.polls > 0) return;
    if (one.held())
        plan(session, one, Step::release, now);
    else
        forget(session);
}

void SessionLeases::retire(HolderInstant now) {
    retired_ = true;
    for (const std::string& session : sessions())
        let_go(session, now);
}

bool SessionLeases::begin_poll(const std::string& session, HolderInstant now) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return false;
    Entry& one = found->second;
    if (!one.held() || one.leaving() || !one.deadlines.held(now)) return false;
    ++one.polls;
    return true;
}

void SessionLeases::end_poll(const std::string& session, HolderInstant now) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    Entry& one = found->second;
    if (--one.polls > 0 || one.in_flight || !one.leaving()) return;
    if (one.held())
        plan(session, one, Step::release, now);
    else if (one.gone)
        forget(session);
}

void SessionLeases::set_live(std::set<std::string> live, HolderInstant now) {
    if (live == live_) return;
    live_ = std::move(live);
    for (auto& [session, one] : sessions_) {
        const std::string before =
            std::exchange(one.preferred, std::string(preferred_owner(live_, session, rules_.hash)));
        hand_over_if_due(session, one, now);
        if (before == one.preferred) continue;
        if (!is_preferred(one) && one.free_since) one.free_since = now;  // the new preferred owner gets its chance, too
        if (is_preferred(one) && !one.held() && one.wanted && !one.in_flight) plan(session, one, Step::attempt, now);
    }
}

/// O3: polls in progress end first. An instance that did not acquire the session last time is not offered it again for
/// a while.
void SessionLeases::hand_over_if_due(const std::string& session, Entry& one, HolderInstant now) {
    const bool declined = one.preferred == one.declined_by && now < one.declined_until;
    const bool should = one.held() && !one.preferred.empty() && !is_preferred(one) && !declined;
    if (should == one.handing || one.gone) return;
    one.handing = should;
    if (one.in_flight || one.polls > 0) return;
    if (should)
        plan(session, one, Step::release, now);
    else if (one.held())
        plan(session, one, Step::renew, next_renewal(now));
}

bool SessionLeases::may_take(const Entry& one, HolderInstant now) const {
    if (one.preferred.empty() || now < one.barred_until || now < closed_until_) return false;
    return is_preferred(one) || (one.free_since && now >= *one.free_since + rules_.chance);
}

std::vector<LeaseRequest> SessionLeases::take_due(HolderInstant now, std::size_t most) {
    end_overdue(now);
    std::vector<LeaseRequest> due;
    for (const std::string& session : steps_.take_due(now, most)) {
        Entry& one = sessions_.at(session);
        if (one.in_flight) continue;  // its answer decides the next step
        const auto ask = choose(session, one, now);
        if (!ask) continue;
        one.in_flight = true;
        due.push_back({*ask, session, now});
    }
    return due;
}

std::optional<Ask> SessionLeases::choose(const std::string& session, Entry& one, HolderInstant now) {
    switch (one.step) {
        case Step::renew:
            return Ask::renew;
        case Step::read:
            return Ask::read;
        case Step::retake:
            return Ask::acquire;
        case Step::release:
            if (one.handing) one.handed_to = one.preferred;
            if (one.held()) drop(session, one, Ownership::unknown);  // before it is sent, not when it is answered
            return Ask::release;
        case Step::attempt:
            break;
    }
    if (!std::exchange(one.asked, false) && !one.wanted) {
        one.gone = true;
        if (one.polls == 0) forget(session);
        return std::nullopt;
    }
    return may_take(one, now) ? Ask::acquire : Ask::read;
}

void SessionLeases::end_overdue(HolderInstant now) {
    for (const std::string& session : ends_.take_due(now)) {
        Entry& one = sessions_.at(session);
        drop(session, one, Ownership::unknown);
        if (!one.in_flight) plan(session, one, Step::read, now);
    }
}

void SessionLeases::plan(const std::string& session, Entry& one, Step step, HolderInstant at) {
    one.step = step;
    steps_.put(session, at);
}

/// Schedules the next check of a session that is not ours, or forgets it.
void SessionLeases::look_again(const std::string& session, Entry& one, HolderInstant now) {
    ++one.verdicts;
    one.unanswered = false;
    if (one.gone) {
        if (one.polls == 0) forget(session);
        return;
    }
    if (!one.wanted && !one.asked) return plan(session, one, Step::attempt, now + memory * rules_.chance);
    // A free session is read often: if it is acquired and handed over meanwhile, another instance's chance has begun
    // (O3).
    const bool often = is_preferred(one) || one.asked || one.free_since;
    const bool closed = closed_until_ > now;
    const HolderInstant at = now + (often && !closed ? rules_.try_every : rules_.look_every);
    plan(session, one, Step::attempt, closed ? std::min(at, closed_until_) : at);
}

void SessionLeases::read_after_failure(const std::string& session, Entry& one, HolderInstant now) {
    ++one.verdicts;
    one.unanswered = true;
    plan(session, one, Step::read, now + (one.held() ? rules_.try_every / 4 : rules_.try_every));
}

void SessionLeases::forget(const std::string& session) {
    const auto found = sessions_.find(session);
    const Ownership from = found->second.state;
    steps_.remove(session);
    ends_.remove(session);
    sessions_.erase(found);
    changes_.push_back({session, from, Ownership::unknown, {}, true, {}});
}

void SessionLeases::set_state(const std::string& session, Entry& one, Ownership to) {
    const Ownership from = std::exchange(one.state, to);
    if (from == to && to != Ownership::owned) return;
    changes_.push_back({session, from, to, one.held() ? one.deadlines.end() : HolderInstant{}, false, one.owner});
}

void SessionLeases::drop(const std::string& session, Entry& one, Ownership to, const std::string& owner) {
    ends_.remove(session);
    one.handing = false;
    one.owner = owner;
    set_state(session, one, to);
}

HolderInstant SessionLeases::next_renewal(HolderInstant now) const {
    const auto passed = (now - origin_) / rules_.renew_every;
    return origin_ + (passed + 1) * rules_.renew_every;
}

const SessionLeases::Session* SessionLeases::find(const std::string& session) const {
    const auto found = sessions_.find(session);
    return found == sessions_.end() ? nullptr : &found->second;
}

bool SessionLeases::only_polls_left() const {
    return std::ranges::all_of(sessions_, [](const auto& one) { return one.second.polls > 0; });
}

std::vector<std::string> SessionLeases::owned() const {
    std::vector<std::string> names;
    for (const auto& [session, one] : sessions_)
        if (one.held()) names.push_back(session);
    return names;
}

std::vector<std::string> SessionLeases::sessions() const {
    std::vector<std::string> names;
    for (const auto& [session, one] : sessions_)
        names.push_back(session);
    return names;
}

namespace {

/// How long an instance is not offered a session that it did not acquire, in multiples of `chance`.
constexpr int declined_for = 30;

/// The store of the sessions states no timeline: the one of ownership (T4).
lease::HolderDeadlines deadlines_of(const LeaseRequest& answered, const SessionLeases::Rules& rules,
                                    HolderInstant now) {
    const lease::Timeline timeline{rules.renew_every, rules.ttl * 2 / 3, rules.ttl * 11 / 12, rules.ttl};
    return lease::HolderDeadlines{
        lease::TimedAnswer{.sent_at = answered.sent_at, .arrived_at = now, .timeline = timeline, .ttl = rules.ttl}};
}

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

void SessionLeases::own(const LeaseRequest& request, Entry& one, HolderInstant now) {
    const std::string& session = request.session;
    const lease::HolderDeadlines answered = deadlines_of(request, rules_, now);
    const bool in_time = one.held() ? one.deadlines.on_answer(answered, now) : answered.held(now);
    if (!in_time) return read_after_failure(session, one, now);
    one.deadlines = answered;
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
    one.renewed = request.sent_at;
    ends_.put(session, one.deadlines.end());
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
    plan(request.session, one, Step::read, now);  // to learn the owner
}

void SessionLeases::renew_answered(const LeaseRequest& request, Entry& one, LeaseAnswer::Kind kind, HolderInstant now) {
    if (kind == LeaseAnswer::Kind::yes) return own(request, one, now);
    if (one.held()) set_state(request.session, one, Ownership::uncertain);
    if (kind == LeaseAnswer::Kind::unanswered) return read_after_failure(request.session, one, now);
    // Another instance owns it, or the store lost it. In the latter case it is still ours until the deadline, and no
    // other instance has it yet.
    one.renew_again = now + rules_.try_every;
    plan(request.session, one, Step::read, now);
}

void SessionLeases::release_answered(const LeaseRequest& request, Entry& one, LeaseAnswer::Kind kind,
                                     HolderInstant now) {
    if (kind == LeaseAnswer::Kind::unanswered) {
        // The release may arrive late and end a lease acquired meanwhile, since it names only the instance. Do not
        // acquire for as long as the lease would have lasted.
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

/// After an acquire whose answer was lost, or after a disconnect: a renewal establishes how long the session is still
/// ours.
void SessionLeases::found_ours(const std::string& session, Entry& one, HolderInstant now) {
    one.owner = rules_.instance;
    if (now < one.barred_until) return plan(session, one, Step::read, one.barred_until);
    if (one.gone && one.polls == 0) return plan(session, one, Step::release, now);
    if (one.gone && !one.held()) return plan(session, one, Step::read, now + rules_.try_every);
    plan(session, one, Step::renew, std::max(now, one.renew_again));  // the store may refuse it nevertheless
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

}  // namespace holdfast::client::sessions
