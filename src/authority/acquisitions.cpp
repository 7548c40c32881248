#include "authority/acquisitions.h"

#include <algorithm>
#include <numeric>

#include "authority/store_call.h"
#include "base/assert.h"

namespace holdfast::core {

/// One request, from the asking to the answer.
struct Acquisitions::Request {
    std::uint64_t id = 0;
    AcquireRequest asked;
    Terms terms;
    Callback<AcquireAnswer> reply;
    std::vector<std::size_t> order;  // the intents by the name of their resource
    std::vector<HeldLease> held;     // what was taken in this attempt, by intent
    std::vector<NamedConflict> conflicts;
    std::optional<Instant> wait_until;    // while it is in the queues
    bool trying = false;                  // an attempt is under way
    bool again = false;                   // its turn may have come during the attempt
    std::optional<AcquireAnswer> ending;  // its wait is over: answer this once the attempt under way has ended

    const Intent& intent(std::size_t step) const { return asked.intents[order[step]]; }

    void name_conflicts(std::size_t step, std::vector<Conflict> found) {
        for (Conflict& conflict : found) {
            if (conflicts.size() == limits::named_per_manifest) return;
            conflicts.push_back({intent(step).resource, std::move(conflict)});
        }
    }

    Claim claim(std::size_t step, Token token = 0) const {
        return {.holder = asked.holder,
                .session = asked.session,
                .reason = asked.reason,
                .metadata = asked.metadata,
                .predicate = intent(step).predicate,
                .ttl = terms.ttl,
                .token = token,
                .waiter_id = wait_until ? id : 0};
    }
};

/// An answer that is given a second time (G7).
struct Acquisitions::Retelling {
    Retelling(AcquireAnswer first, Callback<AcquireAnswer> to) : answer(std::move(first)), reply(std::move(to)) {}

    AcquireAnswer answer;
    Callback<AcquireAnswer> reply;
};

namespace {

AcquireBusy busy_answer(Code code, std::vector<NamedConflict> conflicts) {
    Duration retry_in{};
    for (const NamedConflict& named : conflicts)
        retry_in = std::max(retry_in, named.conflict.expires_in);
    return {code, std::move(conflicts), retry_in};
}

Refused storage_failure(const Error& error) {
    return {Code::storage_failed, error.message, {}};
}

}  // namespace

std::uint64_t Acquisitions::start(AcquireRequest asked, Callback<AcquireAnswer> reply, Instant now) {
    now_ = now;
    if (!asked.idempotency_key.empty()) {
        auto seen = idempotency_.look_up(asked, now);
        if (auto* first_answer = std::get_if<AcquireAnswer>(&seen)) {
            tell_again(std::make_shared<Retelling>(std::move(*first_answer), std::move(reply)), 0);
            return 0;
        }
    }
    auto request = std::make_shared<Request>();
    request->id = next_id_++;
    request->asked = std::move(asked);
    request->reply = std::move(reply);
    const auto& intents = request->asked.intents;
    request->order.resize(intents.size());
    std::iota(request->order.begin(), request->order.end(), std::size_t{0});
    std::sort(request->order.begin(), request->order.end(),
              [&](std::size_t a, std::size_t b) { return intents[a].resource < intents[b].resource; });
    requests_.emplace(request->id, request);
    try_again(request);
    return requests_.contains(request->id) ? request->id : 0;
}

/// A grant is told as it stands now: its holder counts from when it asked again (T3), and an admin, or the holder
/// itself, may have ended it since.
void Acquisitions::tell_again(const std::shared_ptr<Retelling>& retelling, std::size_t i) {
    auto* granted = std::get_if<AcquireGranted>(&retelling->answer);
    if (granted == nullptr || i == granted->leases.size()) return retelling->reply(std::move(retelling->answer));
    HeldLease& held = granted->leases[i];
    apply_rule(
        *store_, held.resource,
        [&held](Record& record, Instant now) {
            const Verified verified = verify(record, held.lease.token, now);
            if (verified.lease) {
                held.lease = *verified.lease;
                held.timeline = timeline_of(held.lease, now);
            }
            return Ruling{verified.state};
        },
        [this, retelling, i](const Result<LeaseState>& state) {
            if (!state) return retelling->reply(storage_failure(state.error()));
            if (*state != LeaseState::active) return retelling->reply(Refused{code_for(*state), {}, {}});
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
    request->conflicts.clear();
    auto terms = parts_.admit(request->asked);  // each time: the policy may have changed while it waited (R7)
    if (auto* refused = std::get_if<Refused>(&terms)) return fail(request, std::move(*refused));
    request->terms = std::get<Terms>(terms);
    request->held.assign(request->order.size(), {});
    if (request->order.size() == 1)
        take(request, 0);
    else
        look(request, 0);
}

void Acquisitions::look(const RequestPtr& request, std::size_t step) {
    if (step == request->order.size()) return looked(request);
    apply_rule(
        *store_, request->intent(step).resource,
        [request, step](Record& record, Instant now) {
            return Ruling{conflicts_of(record, request->claim(step), now)};
        },
        [this, request, step](Result<std::vector<Conflict>> found) {
            if (!found) return fail(request, storage_failure(found.error()));
            request->name_conflicts(step, std::move(*found));
            look(request, step + 1);
        });
}

void Acquisitions::looked(const RequestPtr& request) {
    if (request->conflicts.empty() && !request->ending)
        take(request, 0);
    else
        busy(request);
}

void Acquisitions::take(const RequestPtr& request, std::size_t step) {
    if (request->ending) return give_back(request, step);
    if (step == request->order.size()) return grant(request);
    const auto token = parts_.tokens.take();
    if (!token) {
        request->ending = Refused{Code::tokens_exhausted, {}, Duration{100ms}};
        return give_back(request, step);
    }
    apply_rule(
        *store_, request->intent(step).resource,
        [request, step, token](Record& record, Instant now) {
            Ruling ruling{acquire(record, request->claim(step, *token), now)};
            if (const auto* granted = std::get_if<Granted>(&ruling.verdict)) {
                request->held[request->order[step]].timeline = timeline_of(granted->lease, now);
                ruling.effect = Effect::changed;
            }
            return ruling;
        },
        [this, request, step](Result<AcquireVerdict> verdict) { taken(request, step, std::move(verdict)); });
}

void Acquisitions::taken(const RequestPtr& request, std::size_t step, Result<AcquireVerdict> verdict) {
    if (!verdict) {
        request->ending = storage_failure(verdict.error());
    } else if (auto* granted = std::get_if<Granted>(&*verdict)) {
        request->held[request->order[step]].lease = std::move(granted->lease);
        return take(request, step + 1);
    } else if (auto* busy = std::get_if<Busy>(&*verdict)) {
        request->name_conflicts(step, std::move(busy->conflicts));
    } else {
        request->ending = Refused{std::get<Rejected>(*verdict).code, {}, {}};
    }
    give_back(request, step);
}

/// Gives back, last first, what was taken before `step`, keeping the request's place in the queues.
void Acquisitions::give_back(const RequestPtr& request, std::size_t step) {
    if (step == 0) return busy(request);
    const std::size_t last = step - 1;
    apply_rule(
        *store_, request->intent(last).resource,
        [request, last](Record& record, Instant) {
            roll_back(record, request->held[request->order[last]].lease.token);
            if (request->wait_until) enqueue(record, request->claim(last), *request->wait_until);
            return Ruling{true, Effect::freed};
        },
        [this, request, last](const Result<bool>&) { give_back(request, last); });
}

void Acquisitions::grant(const RequestPtr& request) {
    AcquireGranted granted{std::move(request->held), request->terms.ttl_cut};
    for (std::size_t i = 0; i < granted.leases.size(); ++i) {
        HeldLease& held = granted.leases[i];
        held.resource = request->asked.intents[i].resource;
        parts_.events.publish(EventKind::granted, held.resource, held.lease, held.lease.acquired_at);
    }
    answer(request, std::move(granted));
}

/// The way is not free. The request waits, or is told who stands in it.
void Acquisitions::busy(const RequestPtr& request) {
    request->trying = false;
    if (request->ending) {
        AcquireAnswer ending = std::move(*request->ending);
        if (auto* refused = std::get_if<AcquireBusy>(&ending))
            ending = busy_answer(refused->code, std::move(request->conflicts));
        return leave(request, std::move(ending));
    }
    if (request->again) return try_again(request);
    if (request->wait_until) return;
    if (request->terms.wait <= Duration::zero())
        return answer(request, busy_answer(Code::busy, std::move(request->conflicts)));
    if (waiting() >= limits::waiters) return answer(request, Refused{Code::too_many_waiters, {}, Duration{1s}});
    request->wait_until = now_ + request->terms.wait;
    deadlines_.emplace(*request->wait_until, request->id);
    queue(request, 0);
}

void Acquisitions::queue(const RequestPtr& request, std::size_t step) {
    // Between looking and queueing a place may have been freed without anyone to tell: look once more.
    if (step == request->order.size()) return try_again(request);
    apply_rule(
        *store_, request->intent(step).resource,
        [request, step](Record& record, Instant) {
            const bool full = enqueue(record, request->claim(step), *request->wait_until).has_value();
            return Ruling{full, full ? Effect::none : Effect::changed};
        },
        [this, request, step](const Result<bool>& full) {
            if (!full) return fail(request, storage_failure(full.error()));
            if (*full) return fail(request, Refused{Code::too_many_waiters, {}, Duration{1s}});
            queue(request, step + 1);
        });
}

void Acquisitions::fail(const RequestPtr& request, Refused refused) {
    request->trying = false;
    leave(request, std::move(refused));
}

/// Takes a request that is not granted out of the queues, then answers it.
void Acquisitions::leave(const RequestPtr& request, AcquireAnswer answered) {
    if (!request->wait_until) return answer(request, std::move(answered));
    leave_queue(request, 0, std::move(answered));
}

void Acquisitions::leave_queue(const RequestPtr& request, std::size_t step, AcquireAnswer answered) {
    if (step == request->order.size()) return answer(request, std::move(answered));
    request->trying = true;  // so that nobody lets it try while it leaves
    apply_rule(
        *store_, request->intent(step).resource,
        [request](Record& record, Instant) {
            dequeue(record, request->id);
            return Ruling{true, Effect::freed};
        },
        [this, request, step, answered = std::move(answered)](const Result<bool>&) mutable {
            leave_queue(request, step + 1, std::move(answered));
        });
}

void Acquisitions::answer(const RequestPtr& request, AcquireAnswer answered) {
    if (requests_.erase(request->id) == 0) return;
    if (request->wait_until) {
        const auto [first, last] = deadlines_.equal_range(*request->wait_until);
        const auto mine = std::find_if(first, last, [&](const auto& entry) { return entry.second == request->id; });
        if (mine != last) deadlines_.erase(mine);
    }
    if (!request->asked.idempotency_key.empty()) idempotency_.finish(request->asked, answered, now_);
    request->reply(std::move(answered));
}

Acquisitions::RequestPtr Acquisitions::find(std::uint64_t id) const {
    const auto found = requests_.find(id);
    return found == requests_.end() ? nullptr : found->second;
}

void Acquisitions::cancel(std::uint64_t ticket, Instant now) {
    now_ = now;
    const RequestPtr request = find(ticket);
    if (!request) return;
    request->ending = busy_answer(Code::cancelled, {});
    if (!request->trying) busy(request);
}

void Acquisitions::stop(Instant now) {
    now_ = now;
    const auto unanswered = requests_;
    for (const auto& [id, request] : unanswered) {
        request->ending = Refused{Code::stopping, {}, {}};
        if (!request->trying) busy(request);
    }
}

void Acquisitions::advance(Instant now) {
    now_ = now;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const RequestPtr request = find(deadlines_.begin()->second);
        deadlines_.erase(deadlines_.begin());
        if (!request || request->ending) continue;
        // The last look names those who stand in the way now; nothing can be taken any more.
        request->ending = AcquireBusy{Code::wait_timeout, {}, {}};
        if (request->trying) continue;
        request->trying = true;
        request->conflicts.clear();
        look(request, 0);
    }
}

Instant Acquisitions::next_deadline() const {
    return deadlines_.empty() ? Instant::max() : deadlines_.begin()->first;
}

void Acquisitions::note_due(const std::vector<std::uint64_t>& waiters) {
    due_.insert(due_.end(), waiters.begin(), waiters.end());
}

void Acquisitions::serve(Instant now) {
    now_ = now;
    if (serving_) return;
    serving_ = true;
    while (!due_.empty()) {
        const RequestPtr request = find(due_.front());
        due_.pop_front();
        if (request) try_again(request);
    }
    serving_ = false;
}

}  // namespace holdfast::core
