#include <algorithm>

#include "sim/holder.h"

namespace holdfast::sim {

/// T3: counts from when it asked, less the margin.
Duration Holder::believed_until(Duration sent, Duration left, Duration ttl) const {
    return sent + left - std::max<Duration>(ttl / 100, 50ms);
}

Holder::Held* Holder::find(const lease::LeaseName& name) {
    const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.name == name; });
    return found == held_.end() ? nullptr : &*found;
}

/// Reads its clock: a lease past its deadline is lost, whatever arrives later.
void Holder::expire() {
    for (Held& held : held_)
        if (held.belief == Belief::holds && local_now() >= held.until) {
            held.belief = Belief::over;
            ++parts_.work.lost;
            note("has lost ", to_string(held.name), " by its own clock");
        }
}

void Holder::plan_renewal() {
    Duration ttl = longest_ttl;
    for (const Held& held : held_)
        ttl = std::min(ttl, held.ttl);
    in_round(ttl / 3, [this] {
        renew();
        plan_renewal();
    });
}

void Holder::renew() {
    expire();
    authority::RenewRequest request;
    request.holder = name_;
    Sent sent{{}, local_now(), parts_.events.now()};
    for (const Held& held : held_) {
        // Sometimes it renews a lost lease: the answer must be right even then.
        if (held.belief == Belief::over && !dice_.chance(0.2)) continue;
        request.leases.push_back({held.name, {}});
        sent.names.push_back(held.name);
    }
    if (sent.names.empty()) return;
    const unsigned node = dice_.chance(0.2) ? any_node() : node_;
    note("renews ", to_string(sent.names[0]), sent.names.size() > 1 ? " and others" : "", " at node ", node);
    send(node, Network::Doubles::sometimes,
         [this, request, sent, node](authority::Authority& authority, std::uint64_t life) {
             const PolicySeen before = policy_seen(node, authority);
             authority.renew(
                 request, [this, sent, node, life, before, &authority](std::vector<authority::RenewAnswer> answers) {
                     for (const authority::RenewAnswer& answer : answers)
                         if (const auto* renewed = std::get_if<authority::RenewedLease>(&answer.result))
                             parts_.checker.allowed(before, policy_seen(node, authority), renewed->held);
                     tell(node, life, [this, sent, answers = std::move(answers)] { on_renewed(sent, answers); });
                 });
         });
}

void Holder::on_renewed(const Sent& sent, const std::vector<authority::RenewAnswer>& answers) {
    expire();
    for (const authority::RenewAnswer& answer : answers) {
        const auto* renewed = std::get_if<authority::RenewedLease>(&answer.result);
        Held* held = find(answer.name);
        if (renewed != nullptr) {
            ++parts_.work.renewals;
            parts_.checker.found_active(answer.name, sent.sent_at);
        }
        if (held == nullptr || held->belief == Belief::over) continue;
        if (renewed == nullptr) {
            const authority::Refused& refused = std::get<authority::Refused>(answer.result);
            note("may not renew ", to_string(answer.name), ": ", name_of(refused.code), ' ', refused.detail);
            // Unknown outcome: the earlier answer still applies.
            if (refused.code == Code::storage_failed || refused.code == Code::unavailable) continue;
            if (held->belief == Belief::holds) parts_.checker.stops_believing(held->name, parts_.events.now());
            held->belief = Belief::over;
            continue;
        }
        const Duration until = believed_until(sent.sent, renewed->held.timeline.expires_in, renewed->held.lease.ttl);
        if (local_now() >= until) continue;
        note("has renewed ", to_string(answer.name));
        held->until = held->belief == Belief::holds ? std::max(held->until, until) : until;
        held->belief = Belief::holds;
        parts_.checker.believes(held->name, parts_.events.now(), clock_.when(held->until));
    }
}

void Holder::let_go() {
    expire();
    std::vector<lease::LeaseName> names;
    for (const Held& held : held_)
        names.push_back(held.name);
    end_round();
    for (const lease::LeaseName& name : names) {
        release(name, 0);
        if (last_ || !dice_.chance(0.2)) continue;
        later(dice_.between(0s, 8s), [this, name] {
            release(name, 0);
            verify(name);
        });
    }
}

void Holder::release(const lease::LeaseName& name, unsigned tries) {
    const unsigned node = tries > 0 || dice_.chance(0.2) ? any_node() : node_;
    note("releases ", to_string(name), " at node ", node);
    const auto answered = std::make_shared<bool>(false);
    send(node, last_ ? Network::Doubles::never : Network::Doubles::sometimes,
         [this, name, node, answered](authority::Authority& authority, std::uint64_t life) {
             authority.release({{}, name, name_, {}},
                               [this, name, node, life, answered](authority::Answer<authority::ReleaseAnswer> answer) {
                                   tell(node, life, [this, name, answer, answered] {
                                       const auto* released = std::get_if<authority::ReleaseAnswer>(&answer);
                                       if (released == nullptr) return;
                                       *answered = true;
                                       note("has released ", to_string(name), ": ", to_string(released->state));
                                       if (released->state != lease::LeaseState::released) return;
                                       ++parts_.work.releases;
                                       parts_.checker.released(name, parts_.events.now());
                                       if (dice_.chance(0.1)) verify(name);
                                   });
                               });
         });
    if (tries >= 3) return;
    later(dice_.between(500ms, 2s), [this, name, tries, answered] {
        if (!*answered) release(name, tries + 1);
    });
}

void Holder::verify(const lease::LeaseName& name) {
    const unsigned node = any_node();
    send(node, Network::Doubles::sometimes,
         [this, name, node, sent_at = parts_.events.now()](authority::Authority& authority, std::uint64_t life) {
             authority.verify({name}, [this, name, node, life,
                                       sent_at](authority::Answer<std::vector<authority::VerifyAnswer>> answer) {
                 tell(node, life, [this, name, sent_at, answer = std::move(answer)] {
                     const auto* found = std::get_if<std::vector<authority::VerifyAnswer>>(&answer);
                     if (found == nullptr || found->at(0).verified.state != lease::LeaseState::active) return;
                     note("finds ", to_string(name), " active");
                     parts_.checker.found_active(name, sent_at);
                 });
             });
         });
}

}  // namespace holdfast::sim
