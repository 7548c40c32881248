#include "sim/holder.h"

#include <algorithm>

namespace holdfast::sim {

PolicySeen Holder::policy_seen(unsigned node, const authority::Authority& authority) const {
    const auto ban = authority.policy().bans.find(name_);
    const bool banned = ban != authority.policy().bans.end();
    return {name_, parts_.cluster.node(node).applied(), authority.policy().ttl_max,
            banned ? ban->second.reason : std::string()};
}

Holder::Holder(Parts parts)
    : parts_(parts),
      name_("h" + std::to_string(parts.index)),
      dice_(Dice::part(parts.scenario.seed, 300 + parts.index)) {
    const auto most = static_cast<std::int64_t>(parts_.scenario.rho * 1e6);
    const std::int64_t ppm = dice_.chance(0.5) ? -most : static_cast<std::int64_t>(dice_.below(2 * most + 1)) - most;
    clock_ = SimClock{{dice_.between(1h, 100h), ppm}};
    node_ = any_node();
    agent_ = dice_.chance(0.4);
    priority_ = static_cast<lease::Priority>(dice_.below(6));
    if (agent_) register_agent();
    think();
}

void Holder::later(Duration delay, std::function<void()> action) {
    const TrueInstant at = std::max(clock_.when(local_now() + delay), parts_.events.now());
    parts_.events.at(std::max(at, asleep_until_), [this, action = std::move(action)]() mutable {
        if (parts_.events.now() < asleep_until_) return later(Duration::zero(), std::move(action));
        action();
    });
}

void Holder::in_round(Duration delay, std::function<void()> action) {
    later(delay, [this, round = round_, action = std::move(action)] {
        if (round == round_) action();
    });
}

void Holder::send(unsigned node, Network::Doubles doubles, Node::Ask ask) {
    parts_.network.carry(parts_.network.place_of_holder(parts_.index), parts_.network.place_of_node(node), doubles,
                         [this, node, ask = std::move(ask)] { parts_.cluster.node(node).ask(ask); });
}

void Holder::tell(unsigned node, std::uint64_t life, std::function<void()> action) {
    parts_.cluster.node(node).answer(life, parts_.network.place_of_holder(parts_.index),
                                     [this, action = std::move(action)] { later(Duration::zero(), action); });
}

std::string Holder::waits_for() const {
    std::string text = name_ + " has asked";
    for (const lease::Intent& intent : asking_.intents)
        text += ' ' + intent.resource;
    return text + " at node " + std::to_string(node_);
}

void Holder::think() {
    if (last_) return;
    in_round(dice_.between(10ms, dice_.chance(0.2) ? Duration{3s} : Duration{400ms}), [this] { begin_round(); });
}

std::vector<lease::Intent> Holder::any_manifest() {
    std::vector<lease::Intent> intents;
    for (std::uint64_t count = dice_.chance(0.75) ? 1 : 2 + dice_.below(2); count > 0; --count) {
        const lease::Predicate predicate = dice_.chance(0.7) ? lease::Predicate::mutates
                                           : dice_.chance(0.6)
                                               ? lease::Predicate::consumes
                                               : lease::all_predicates[dice_.below(lease::all_predicates.size())];
        intents.push_back({dice_.one_of(parts_.resources), predicate});
    }
    return *checked_manifest(std::move(intents));
}

void Holder::begin_round() {
    ++round_;
    held_.clear();
    tries_ = 0;
    manner_ = dice_.chance(0.7) ? Manner::dutiful : static_cast<Manner>(1 + dice_.below(3));
    if (last_) manner_ = Manner::dutiful;
    wants_more_ = agent_ && (last_ || dice_.chance(0.4));
    if (!last_ && dice_.chance(0.2)) node_ = any_node();
    if (!last_ && agent_ && (!registered_ || dice_.chance(0.03))) register_agent();
    asking_ = Asked{};
    asking_.round = round_;
    asking_.intents = any_manifest();
    // Mostly the shortest and the longest TTL: they reveal a rule that counts with the wrong one.
    const Scenario& scenario = parts_.scenario;
    asking_.ttl = dice_.chance(0.4)   ? scenario.ttl_least
                  : dice_.chance(0.5) ? scenario.max_ttl
                                      : dice_.between(scenario.ttl_least, scenario.max_ttl);
    asking_.wait = last_ ? Duration{4min} : dice_.chance(0.5) ? Duration::zero() : dice_.between(1s, 10s);
    if (last_) asking_.ttl = scenario.ttl_least;
    ask();
}

void Holder::ask() {
    ++parts_.work.requests;
    asking_.request = open_ = ++requests_;
    asking_.sent = local_now();
    asking_.sent_at = parts_.events.now();
    asking_.floor = parts_.checker.highest_token();
    authority::AcquireRequest request;
    request.holder = name_;
    request.session = "s";
    if (agent_ && registered_) request.epoch = epoch_;
    request.intents = asking_.intents;
    request.ttl = asking_.ttl;
    request.wait = asking_.wait;
    note("asks node ", node_, " for ", asking_.intents.size(), " resources, first ", asking_.intents[0].resource, ' ',
         to_string(asking_.intents[0].predicate), ", ttl ", seconds_text(asking_.ttl), ", wait ",
         seconds_text(asking_.wait));
    send(node_, Network::Doubles::never,
         [this, request, asked = asking_, node = node_](authority::Authority& authority, std::uint64_t life) {
             const PolicySeen before = policy_seen(node, authority);
             authority.acquire(request, [this, asked, node, life, before, &authority](authority::AcquireAnswer answer) {
                 if (const auto* granted = std::get_if<authority::AcquireGranted>(&answer))
                     for (const authority::HeldLease& held : granted->leases)
                         parts_.checker.allowed(before, policy_seen(node, authority), held);
                 tell(node, life, [this, asked, answer = std::move(answer)] { on_answer(asked, answer); });
             });
         });
    if (last_) return;  // no more faults
    in_round(asking_.wait + dice_.between(1s, 6s), [this, request_number = open_] { on_no_answer(request_number); });
}

void Holder::on_no_answer(std::uint64_t request) {
    if (open_ != request) return;
    note("has waited long enough for an answer");
    node_ = any_node();
    if (++tries_ < 3 && dice_.chance(0.7)) return ask();
    open_ = 0;
    give_up_round();
}

void Holder::on_answer(const Asked& asked, const authority::AcquireAnswer& answer) {
    const bool current = asked.round == round_ && asked.request == open_;
    if (current) open_ = 0;
    if (const auto* granted = std::get_if<authority::AcquireGranted>(&answer)) {
        if (current) return on_granted(asked, *granted);
        ++parts_.work.abandoned;
        const TrueInstant now = parts_.events.now();
        for (const authority::HeldLease& held : granted->leases) {
            note("is told too late of ", held.resource, '#', held.lease.token);
            parts_.checker.granted(
                {name_, held.resource, held.lease.predicate, held.lease.token, asked.sent_at, now, now}, asked.floor);
            if (last_ || dice_.chance(0.7)) release({held.resource, held.lease.token}, 0);
        }
        return;
    }
    if (current) on_refused(answer);
}

void Holder::on_refused(const authority::AcquireAnswer& answer) {
    if (const auto* busy = std::get_if<authority::AcquireBusy>(&answer)) {
        ++parts_.work.refusals;
        note("is refused: ", name_of(busy->code));
        if (busy->code == Code::die) return die(busy->retry_in);
        if (last_)
            parts_.checker.overdue(name_ +
                                   " was refused after the faults were over: " + std::string(name_of(busy->code)));
        return give_up_round();
    }
    const authority::Refused& refused = std::get<authority::Refused>(answer);
    note("is refused: ", name_of(refused.code), ' ', refused.detail);
    ++(refused.code == Code::banned ? parts_.work.banned : parts_.work.unavailable);
    if (last_)
        parts_.checker.overdue(name_ +
                               " was refused after the faults were over: " + std::string(name_of(refused.code)));
    if (refused.code == Code::stale_epoch) ++epoch_;
    if (dice_.chance(0.5)) node_ = any_node();
    give_up_round();
}

void Holder::on_granted(const Asked& asked, const authority::AcquireGranted& granted) {
    ++parts_.work.grants;
    const TrueInstant now = parts_.events.now();
    bool all_believed = true;
    for (const authority::HeldLease& held : granted.leases) {
        const Duration until = believed_until(asked.sent, held.timeline.expires_in, held.lease.ttl);
        const bool believed = local_now() < until;
        all_believed &= believed;
        note("is granted ", held.resource, '#', held.lease.token, ' ', to_string(held.lease.predicate), " for ",
             seconds_text(held.timeline.expires_in), believed ? "" : ", too long ago to rely on");
        parts_.checker.granted({name_, held.resource, held.lease.predicate, held.lease.token, asked.sent_at, now,
                                believed ? clock_.when(until) : now},
                               asked.floor);
        held_.push_back(
            {{held.resource, held.lease.token}, held.lease.ttl, until, believed ? Belief::holds : Belief::not_yet});
    }
    if (!all_believed) {
        // Granted after a wait: only a renewal shows how much of the lease is left (T3).
        ++parts_.work.waited;
        renew();
    }
    if (wants_more_ && registered_) return ask_for_more();
    work_on(asked);
}

void Holder::work_on(const Asked& asked) {
    if (last_) return in_round(dice_.between(10ms, 100ms), [this] { let_go(); });
    const Duration work = dice_.chance(0.6) ? dice_.between(20ms, 1s) : dice_.between(100ms, 2 * asked.ttl);
    switch (manner_) {
        case Manner::dutiful:
            plan_renewal();
            return in_round(work, [this] { let_go(); });
        case Manner::forgetful:  // it disappears, and is back later
            return in_round(asked.ttl + dice_.between(0s, 1s), [this] { end_round(); });
        case Manner::sleepy:
            plan_renewal();
            in_round(work, [this] { let_go(); });
            return in_round(dice_.between(0s, asked.ttl), [this, &asked = asking_] {
                const Duration sleep = dice_.between(asked.ttl / 2, 2 * asked.ttl);
                note("falls asleep for ", seconds_text(sleep));
                asleep_until_ = parts_.events.now() + sleep;
            });
        case Manner::careless:  // it does not renew, and releases leases that may have ended
            return in_round(dice_.between(0s, 2 * asked.ttl), [this] { let_go(); });
    }
}

std::vector<lease::LeaseName> Holder::drop_all() {
    std::vector<lease::LeaseName> names;
    for (Held& held : held_) {
        if (held.belief == Belief::holds) parts_.checker.stops_believing(held.name, parts_.events.now());
        held.belief = Belief::over;
        names.push_back(held.name);
    }
    return names;
}

void Holder::end_round() {
    drop_all();
    ++round_;
    if (last_) finished_ = true;
    think();
}

/// Ends the round without its last request. Leases of earlier requests are released.
void Holder::give_up_round() {
    held_.empty() ? end_round() : let_go();
}

void Holder::begin_last_round() {
    last_ = true;
    asleep_until_ = parts_.events.now();
    open_ = 0;
    let_go();
    finished_ = false;
    // An agent must be registered at the node that it asks, since it requests more while it holds something.
    in_round(Duration::zero(), [this] { agent_ ? register_agent() : begin_round(); });
}

}  // namespace holdfast::sim
