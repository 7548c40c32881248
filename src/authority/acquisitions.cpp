#include "authority/acquisitions.h"

#include <algorithm>
#include <fmt/format.h>

#include "authority/acquisition.h"
#include "authority/store_call.h"
#include "lease/skew_margin.h"

namespace holdfast::authority {

namespace {

Refused too_many_at_once(std::size_t asked, std::size_t most) {
    return {Code::invalid_argument,
            fmt::format("this asks for {} leases at once, and the policy allows a holder {} (leases_per_holder_max); "
                        "ask for fewer",
                        asked, most),
            {}};
}

}  // namespace

/// An answer that is sent again (G7).
struct Acquisitions::Retelling {
    Retelling(AcquireAnswer first, Callback<AcquireAnswer> to) : answer(std::move(first)), reply(std::move(to)) {}

    AcquireAnswer answer;
    Callback<AcquireAnswer> reply;
};

Acquisitions::Acquisitions(Parts parts)
    : parts_(std::move(parts)),
      idempotency_(Random{parts_.seed + 1}),
      next_id_(parts_.first_request),
      random_(parts_.seed) {}

Acquisitions::~Acquisitions() = default;

std::uint64_t Acquisitions::start(AcquireRequest asked, Callback<AcquireAnswer> reply, Instant now) {
    now_ = now;
    if (!asked.idempotency_key.empty()) {
        auto seen = idempotency_.look_up(asked, now);
        if (auto* first_answer = std::get_if<AcquireAnswer>(&seen)) {
            // This transmission has not waited (T3).
            auto* granted = std::get_if<AcquireGranted>(first_answer);
            if (granted != nullptr) granted->waited = Duration::zero();
            tell_again(std::make_shared<Retelling>(std::move(*first_answer), std::move(reply)), 0);
            return 0;
        }
    }
    auto request = std::make_shared<Request>();
    request->id = next_id_++;
    request->attempt = make_attempt();
    AcquireRequest& wanted = request->attempt->asked;
    wanted = std::move(asked);
    request->reachable = std::move(wanted.reachable);
    request->reply = std::move(reply);
    request->received_at = now;
    if (const Agent* agent = parts_.admission.agent_of(wanted.holder, wanted.caller.acts_for)) {
        request->agent = true;
        request->priority = agent->priority;
        if (!wanted.epoch) wanted.epoch = agent->epoch;
    } else {
        request->priority = parts_.arrival();
    }
    wanted.session = session_of(*request);
    request->attempt->sort();
    requests_.emplace(request->id, request);
    try_again(request);
    return requests_.contains(request->id) ? request->id : 0;
}

/// G2: the session that the request names; else that of its agent's epoch; else its idempotency key, so that a retry
/// through another node does not conflict with itself; else a session of its own. The latter needs a name only if the
/// request has several intents, which must not conflict with each other.
std::string Acquisitions::session_of(const Request& request) {
    const AcquireRequest& asked = request.attempt->asked;
    if (!asked.session.empty()) return asked.session;
    if (request.agent) return session_of_epoch(*asked.epoch);
    if (!asked.idempotency_key.empty()) return asked.idempotency_key;
    return asked.intents.size() > 1 ? "own:" + std::to_string(random_.next()) : std::string{};
}

/// Reports a grant in its current state: the holder counts from when it sent the retry (T3), and an admin or the holder
/// itself may have ended the lease since.
void Acquisitions::tell_again(const std::shared_ptr<Retelling>& retelling, std::size_t i) {
    auto* granted = std::get_if<AcquireGranted>(&retelling->answer);
    if (granted == nullptr || i == granted->leases.size()) return retelling->reply(std::move(retelling->answer));
    HeldLease& held = granted->leases[i];
    apply_rule(
        *store_, held.resource,
        [&held](lease::Record& record, Instant now) {
            const lease::Verified verified = verify(record, held.lease.token, now);
            if (verified.lease) {
                held.lease = *verified.lease;
                held.timeline = lease::timeline_of(held.lease, now);
            }
            return Ruling{verified.state};
        },
        [this, retelling, i](const Result<lease::LeaseState>& state) {
            if (!state) return retelling->reply(storage_failure(state.error()));
            if (*state != lease::LeaseState::active) return retelling->reply(Refused{code_for(*state), {}, {}});
            tell_again(retelling, i + 1);
        });
}

void Acquisitions::try_again(const RequestPtr& request) {
    if (request->trying) {
        request->again = true;
        return;
    }
    request->trying = true;
    request->again = false;
    resume(*request);
    Attempt& attempt = *request->attempt;
    attempt.began_at = now_;
    attempt.standing = {};
    if (request->is_left()) request->ending = busy_answer(Code::cancelled, {});
    if (request->ending) return busy(request);
    // Each time: the policy may have changed while it waited (R7).
    if (auto refusal = admit(*request)) return fail(request, std::move(*refusal));
    attempt.held.assign(attempt.order.size(), {});
    const bool counted = std::any_of(attempt.terms.begin(), attempt.terms.end(),
                                     [](const Admission::Terms& terms) { return terms.max_leases > 0; });
    if (counted)
        count(request);
    else
        begin(request);
}

/// Counts as a request of the holder (Agents::see()).
std::optional<Refused> Acquisitions::admit(const Request& request) {
    Attempt& attempt = *request.attempt;
    const AcquireRequest& asked = attempt.asked;
    if (asked.caller.acts_for == lease::Owner::nobody)
        if (const auto stale = parts_.agents.see(asked.holder, asked.epoch, now_)) return refused(*stale);
    for (std::size_t i = 0; i < asked.intents.size(); ++i) {
        auto admitted = parts_.admission.admit({.resource = asked.intents[i].resource,
                                                .holder = asked.holder,
                                                .acts_for = asked.caller.acts_for,
                                                .node = asked.caller.node,
                                                .ttl = asked.ttl,
                                                .queued = request.wait_until.has_value()},
                                               now_);
        if (auto* refusal = std::get_if<Refused>(&admitted)) return std::move(*refusal);
        attempt.terms[i] = std::get<Admission::Terms>(admitted);
    }
    return std::nullopt;
}

/// R6: enforces the number of leases per holder, which is counted for each namespace that has a limit of its own. A
/// request for more than the limit can never be granted.
void Acquisitions::count(const RequestPtr& request) {
    const Attempt& attempt = *request->attempt;
    const lease::Policy& policy = parts_.admission.policy();
    std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> asked;  // by scope: an intent and a number
    for (std::size_t i = 0; i < attempt.terms.size(); ++i) {
        const std::size_t most = attempt.terms[i].max_leases;
        if (most == 0) continue;
        auto& [intent, number] = asked[std::string(policy.quota_scope(attempt.asked.intents[i].resource))];
        intent = i;
        if (++number > most) return fail(request, too_many_at_once(attempt.asked.intents.size(), most));
    }
    store_->leases_of(attempt.asked.holder, store::Store::Which::active, SIZE_MAX,
                      [this, request, asked = std::move(asked)](const Result<std::vector<lease::LeaseName>>& held) {
                          if (!held) return fail(request, storage_failure(held.error()));
                          for (const auto& [scope, of_scope] : asked)
                              if (const auto& intent = request->attempt->asked.intents[of_scope.first];
                                  parts_.admission.exceeds_quota(*held, intent.resource, of_scope.second))
                                  return fail(request, Refused{Code::over_quota, {}, {}});
                          begin(request);
                      });
}

void Acquisitions::begin(const RequestPtr& request) {
    if (request->attempt->order.size() == 1)
        take(request);
    else
        look(request);
}

void Acquisitions::arrived(const RequestPtr& request) {
    if (--request->attempt->missing > 0) return;
    Callback<> then = std::move(request->attempt->then);
    then();
}

void Acquisitions::look(const RequestPtr& request) {
    at_steps(
        request, request->attempt->all(), [this, request](std::size_t step) { look_at(request, step); },
        [this, request] {
            if (request->attempt->failure) return fail(request, *std::exchange(request->attempt->failure, {}));
            looked(request);
        });
}

void Acquisitions::look_at(const RequestPtr& request, std::size_t step) {
    apply_rule(
        *store_, request->attempt->intent(step).resource,
        [request, step](lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
            return Ruling{lease::standing_of(record, neighbours, request->claim(step), now)};
        },
        [this, request, step](Result<lease::ConflictReport> found) {
            if (found)
                request->stands(step, std::move(*found));
            else
                request->attempt->failure = storage_failure(found.error());
            arrived(request);
        });
}

void Acquisitions::looked(const RequestPtr& request) {
    if (request->attempt->standing.free() && !request->ending)
        take(request);
    else
        busy(request);
}

/// Takes the first by name alone, then the rest in parallel. So of two requests for the same resources one fails at the
/// first, and the other gets them all.
void Acquisitions::take(const RequestPtr& request) {
    if (request->ending) return busy(request);
    take_steps(request, {0, 1});
}

void Acquisitions::take_steps(const RequestPtr& request, Steps steps) {
    at_steps(
        request, steps, [this, request](std::size_t step) { take_at(request, step); },
        [this, request, taken = steps.end] {
            // The grant was not answered yet, so it can be rolled back.
            if (request->is_left()) request->ending = busy_answer(Code::cancelled, {});
            if (request->ending || !request->attempt->holds(taken)) return give_back(request);
            if (taken == request->attempt->order.size()) return grant(request);
            take_steps(request, {taken, request->attempt->order.size()});
        });
}

void Acquisitions::take_at(const RequestPtr& request, std::size_t step) {
    const AcquireRequest& asked = request->attempt->asked;
    parts_.single_record.step(
        {.resource = request->attempt->intent(step).resource,
         .holder = asked.holder,
         .acts_for = asked.caller.acts_for,
         .node = asked.caller.node},
        [request, step](RecordTransaction& at) {
            const lease::Claim claim = request->claim(step);
            // An earlier try of the store that did not take effect had granted the claim and so
            // removed it from the queue.
            if (at.take(claim) && request->wait_until) at.queue(claim, *request->wait_until);
        },
        [this, request, step](SingleRecordAnswer& answer) {
            taken(request, step, answer);
            arrived(request);
        });
}

void Acquisitions::taken(const RequestPtr& request, std::size_t step, SingleRecordAnswer& answer) {
    if (answer.has_lease) {
        HeldLease& held = request->attempt->held[request->attempt->order[step]];
        held.lease = std::move(answer.lease);
        held.timeline = lease::timeline_of(held.lease, answer.at);
    } else if (answer.refused == Code::busy) {
        request->stands(step, std::move(answer.standing));
    } else {
        request->ending = Refused{*answer.refused, std::move(answer.detail), answer.retry_in};
    }
}

/// Rolls back the grants taken so far; the request keeps its place in the queues.
void Acquisitions::give_back(const RequestPtr& request) {
    at_steps(
        request, request->attempt->all(),
        [this, request](std::size_t step) {
            const lease::Token token = request->attempt->held[request->attempt->order[step]].lease.token;
            if (token == 0) return arrived(request);
            apply_rule(
                *store_, request->attempt->intent(step).resource,
                [request, step, token](lease::Record& record, Instant) {
                    lease::roll_back(record, token);
                    if (request->wait_until) lease::enqueue(record, request->claim(step), *request->wait_until);
                    return Ruling{true, store::Effect::freed};
                },
                [this, request](const Result<bool>&) { arrived(request); });
        },
        [this, request] { busy(request); });
}

void Acquisitions::grant(const RequestPtr& request) {
    // No store started a TTL before the attempt began.
    const Duration waited = lease::surely_waited(request->attempt->began_at - request->received_at, parts_.rho);
    AcquireGranted granted{std::move(request->attempt->held), std::nullopt, waited};
    for (std::size_t i = 0; i < granted.leases.size(); ++i) {
        HeldLease& held = granted.leases[i];
        held.resource = request->attempt->asked.intents[i].resource;
        const Admission::Terms& terms = request->attempt->terms[i];
        if (terms.cut || held.lease.ttl < terms.ttl)  // G4, or a quota cut it (R6)
            granted.ttl_cut = TtlCut{request->attempt->asked.ttl.value_or(terms.ttl), held.lease.ttl};
        parts_.events.publish_own(EventKind::granted, held.resource, held.lease, held.lease.acquired_at);
    }
    if (request->attempt->asked.caller.acts_for == lease::Owner::nobody)
        parts_.agents.granted(request->attempt->asked.holder);
    const std::string holder = request->attempt->asked.holder;
    answer(request, std::move(granted));
    nudge(holder);  // its other requests may no longer be allowed to wait, or may no longer need to
}

}  // namespace holdfast::authority
