#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "authority/acquisitions.h"
#include "authority/kept_request.h"

namespace holdfast::authority {

/// Like std::optional, for rarely used members: takes only the size of a pointer when empty.
template <class T>
class Rare {
 public:
    Rare& operator=(T value) {
        value_ = std::make_unique<T>(std::move(value));
        return *this;
    }
    explicit operator bool() const { return value_ != nullptr; }
    T& operator*() const { return *value_; }
    void reset() { value_.reset(); }

 private:
    std::unique_ptr<T> value_;
};

/// The state of an attempt, besides its request.
struct Acquisitions::Attempt {
    AcquireRequest asked;
    Instant began_at;
    std::vector<std::size_t> order;       // indices of the intents, sorted by resource name
    std::vector<Admission::Terms> terms;  // by intent
    std::vector<HeldLease> held;          // the leases taken so far, by intent
    lease::ConflictReport standing;       // the conflicts found
    std::size_t missing = 0;              // outstanding answers of a parallel step, plus one until all are sent
    Callback<> then;                      // runs when all have arrived
    Rare<Refused> failure;                // a failure of one of them

    void sort() {
        const auto& intents = asked.intents;
        terms.assign(intents.size(), {});  // until admitted
        order.resize(intents.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return intents[a].resource < intents[b].resource; });
    }
    const lease::Intent& intent(std::size_t step) const { return asked.intents[order[step]]; }
    Steps all() const { return {0, order.size()}; }
    /// True if the first `steps` intents in `order` were taken.
    bool holds(std::size_t steps) const {
        return std::all_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(steps),
                           [this](std::size_t place) { return held[place].lease.token != 0; });
    }
};

/// One request, from arrival to answer. There may be a hundred thousand waiting requests, so a request that only waits
/// has no attempt and its parameters are kept packed.
struct Acquisitions::Request {
    std::uint64_t id = 0;
    std::unique_ptr<Attempt> attempt;  // present until it is queued, and whenever it retries or leaves the queues
    KeptRequest kept;                  // while it is in the queues
    lease::Priority priority = 0;      // an agent's is fixed on arrival (G5), a plain request's once queued: stands()
    std::uint64_t takes_over = 0;      // its entry in the queues from before it moved to this node (G6)
    Callback<AcquireAnswer> reply;
    std::function<bool()> reachable;
    Instant received_at;                // when the transmission that will be answered arrived
    std::optional<Instant> wait_until;  // while it is in the queues
    bool agent = false;
    bool trying = false;          // an attempt is under way
    bool again = false;           // it may have become due during the attempt
    Rare<AcquireAnswer> ending;   // the wait is over: answer this when the current attempt has ended
    Rare<AcquireAnswer> leaving;  // the answer to send once it has left the queues

    /// True if it waits and its client can no longer be reached (G6).
    bool is_left() const { return wait_until && reachable && !reachable(); }

    /// The longest wait that the policy allows.
    Duration wait() const {
        Duration wait = attempt->asked.wait;
        for (const Admission::Terms& terms : attempt->terms)
            wait = std::min(wait, terms.wait_max);
        return wait;
    }

    /// Adds the conflicts found at one of its resources.
    void stands(std::size_t step, lease::ConflictReport found) {
        for (lease::Conflict& conflict : found.conflicts)
            if (conflict.resource.empty()) conflict.resource = attempt->intent(step).resource;
        // It queues behind the waiters it found, even if their node's clock is ahead of this one's (T1).
        if (!agent && !wait_until && found.last_plain >= priority) priority = lease::later_than(found.last_plain);
        attempt->standing.add(std::move(found));
    }

    lease::Claim claim(std::size_t step) const {
        lease::Claim claim = claim_on(attempt->intent(step), attempt->asked);
        const Admission::Terms& terms = attempt->terms[attempt->order[step]];
        claim.ttl = terms.ttl;
        claim.hold_max = terms.hold_max;
        claim.ttl_min = terms.ttl_min;
        return claim;
    }
    /// Without the terms of a grant: enough to find conflicts.
    lease::Claim claim_on(const lease::Intent& intent, const AcquireRequest& asked) const {
        return {.holder = asked.holder,
                .session = asked.session,
                .reason = asked.reason,
                .metadata = asked.metadata,
                .predicate = intent.predicate,
                .progress = asked.progress,
                .priority = priority,
                .agent = agent,
                .request = id,
                .queued = wait_until.has_value(),
                .takes_over = takes_over};
    }
};

/// Runs `ask` for several records in parallel, so that a remote store needs one round trip for all of them. `ask(step)`
/// must cause exactly one call of arrived().
template <class Ask>
void Acquisitions::at_steps(const RequestPtr& request, Steps steps, const Ask& ask, Callback<> then) {
    request->attempt->missing = steps.end - steps.begin + 1;
    request->attempt->then = std::move(then);
    for (std::size_t step = steps.begin; step < steps.end; ++step)
        ask(step);
    arrived(request);
}

/// The answer to a request that was not granted.
inline AcquireBusy busy_answer(Code code, lease::ConflictReport standing) {
    AcquireBusy busy{code, {}, standing.ahead + 1, standing.free_in};
    busy.conflicts.reserve(standing.conflicts.size());
    for (lease::Conflict& conflict : standing.conflicts) {
        // If only waiters conflict, no lease determines free_in; use the waiters' deadlines.
        if (standing.free_in == Duration::zero()) busy.retry_in = std::max(busy.retry_in, conflict.expires_in);
        std::string resource = conflict.resource;
        busy.conflicts.push_back({std::move(resource), std::move(conflict)});
    }
    return busy;
}

}  // namespace holdfast::authority
