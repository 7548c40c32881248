#include "authority/acquisitions.h"

#include <algorithm>
#include <fmt/format.h>

#include "authority/acquisition.h"
#include "authority/store_call.h"
#include "lease/skew_margin.h"

namespace holdfast::authority {

namespace {

bool is_queued(const lease::Record& record, std::uint64_t request) {
    return std::any_of(record.waiters.begin(), record.waiters.end(),
                       [&](const lease::Waiter& waiter) { return waiter.id == request; });
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
    if (const Agent* agent = parts_.agents.find(wanted.holder)) {
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
    auto terms =
        parts_.admission.terms_for(attempt.asked, now_);  // each time: the policy may have changed while it waited (R7)
    if (auto* refused = std::get_if<Refused>(&terms)) return fail(request, std::move(*refused));
    attempt.terms = std::get<Admission::Terms>(terms);
    if (attempt.terms.full && !request->wait_until) {
        ++refused_for_memory_;
        return fail(request, Refused{Code::memory_full, {}, retry_when_full});
    }
    attempt.held.assign(attempt.order.size(), {});
    if (attempt.terms.max_leases > 0)
        count(request);
    else
        begin(request);
}

/// R6: enforces the number of leases per holder. A request for more than the limit can never be granted.
void Acquisitions::count(const RequestPtr& request) {
    const std::size_t most = request->attempt->terms.max_leases;
    const std::size_t asked = request->attempt->order.size();
    if (asked > most)
        return fail(request, Refused{Code::invalid_argument,
                                     fmt::format("this asks for {} leases at once, and the policy allows a holder {} "
                                                 "(leases_per_holder_max); ask for fewer",
                                                 asked, most),
                                     {}});
    store_->leases_of(request->attempt->asked.holder, store::Store::Which::active, most,
                      [this, request, most](const Result<std::vector<lease::LeaseName>>& held) {
                          if (!held) return fail(request, storage_failure(held.error()));
                          if (held->size() + request->attempt->order.size() > most)
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
    const auto token = parts_.tokens.take();
    if (!token) {
        request->ending = Refused{Code::tokens_exhausted, {}, Duration{100ms}};
        return arrived(request);
    }
    // Only agents outrank others.
    const auto outranked = request->agent ? std::make_shared<std::vector<std::uint64_t>>() : nullptr;
    apply_rule(
        *store_, request->attempt->intent(step).resource,
        [request, step, token, outranked](lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
            const lease::Claim claim = request->claim(step, *token);
            Ruling ruling{acquire(record, neighbours, claim, now)};
            if (const auto* granted = std::get_if<lease::Granted>(&ruling.verdict)) {
                request->attempt->held[request->attempt->order[step]].timeline =
                    lease::timeline_of(granted->lease, now);
                ruling.effect = store::Effect::changed;
                if (outranked) *outranked = lease::outranked_by(record, neighbours, claim);
            } else if (request->wait_until && !is_queued(record, request->id)) {
                // An earlier try of the store that did not take effect had granted the claim and so removed it from the
                // queue.
                lease::enqueue(record, claim, *request->wait_until);
                ruling.effect = store::Effect::changed;
            }
            return ruling;
        },
        [this, request, step, outranked](Result<lease::AcquireVerdict> verdict) {
            if (outranked) judge_again(*outranked);
            taken(request, step, std::move(verdict));
            arrived(request);
        });
}

void Acquisitions::taken(const RequestPtr& request, std::size_t step, Result<lease::AcquireVerdict> verdict) {
    if (!verdict) {
        request->ending = storage_failure(verdict.error());
    } else if (auto* granted = std::get_if<lease::Granted>(&*verdict)) {
        for (const lease::Lease& lease : granted->superseded)
            parts_.events.publish_own(EventKind::released, request->attempt->intent(step).resource, lease, now_);
        request->attempt->held[request->attempt->order[step]].lease = std::move(granted->lease);
    } else if (auto* busy = std::get_if<lease::Busy>(&*verdict)) {
        request->stands(step, std::move(busy->standing));
    } else {
        request->ending = Refused{std::get<lease::Rejected>(*verdict).code, {}, {}};
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
    AcquireGranted granted{std::move(request->attempt->held), request->attempt->terms.ttl_cut, waited};
    for (std::size_t i = 0; i < granted.leases.size(); ++i) {
        HeldLease& held = granted.leases[i];
        held.resource = request->attempt->asked.intents[i].resource;
        if (held.lease.ttl < request->attempt->terms.ttl)  // R6: a quota cut it
            granted.ttl_cut = TtlCut{request->attempt->asked.ttl.value_or(request->attempt->terms.ttl), held.lease.ttl};
        parts_.events.publish_own(EventKind::granted, held.resource, held.lease, held.lease.acquired_at);
    }
    parts_.agents.granted(request->attempt->asked.holder);
    const std::string holder = request->attempt->asked.holder;
    answer(request, std::move(granted));
    nudge(holder);  // its other requests may no longer be allowed to wait, or may no longer need to
}

}  // namespace holdfast::authority
