#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "authority/acquisitions.h"
#include "authority/kept_request.h"
#include "base/mutant.h"

namespace holdfast::core {

/// Like std::optional, for what most requests never have: it takes a pointer's room when it is not there.
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

/// What an attempt needs besides its request.
struct Acquisitions::Attempt {
    AcquireRequest asked;
    Terms terms;
    Instant began_at;
    std::vector<std::size_t> order;  // the intents by the name of their resource
    std::vector<HeldLease> held;     // what was taken, by intent
    ConflictReport standing;         // who was in the way
    std::size_t missing = 0;         // answers, of those that were asked for at once
    Callback<> then;                 // what comes after them
    Rare<Refused> failure;           // of one of them

    void sort() {
        const auto& intents = asked.intents;
        order.resize(intents.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return intents[a].resource < intents[b].resource; });
    }
    const Intent& intent(std::size_t step) const { return asked.intents[order[step]]; }
    Steps all() const { return {0, order.size()}; }
    /// True if everything before this step was taken.
    bool holds(std::size_t steps) const {
        return std::all_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(steps),
                           [this](std::size_t place) { return held[place].lease.token != 0; });
    }
};

/// One request, from the asking to the answer. There may be a hundred thousand that wait, so while it only waits it has
/// no attempt, and what was asked is kept packed.
struct Acquisitions::Request {
    std::uint64_t id = 0;
    std::unique_ptr<Attempt> attempt;  // there from the asking to the queues, and whenever it tries again or leaves
    KeptRequest kept;                  // while it is in the queues
    Priority priority = 0;  // of an agent fixed when it came (G5); of a plain request once it is queued: stands()
    std::uint64_t takes_over = 0;  // its entry in the queues of before it moved to this node (G6)
    Callback<AcquireAnswer> reply;
    std::function<bool()> reachable;
    Instant received_at;                // the transmission that is answered
    std::optional<Instant> wait_until;  // while it is in the queues
    bool agent = false;
    bool trying = false;          // an attempt is under way
    bool again = false;           // its turn may have come during the attempt
    Rare<AcquireAnswer> ending;   // its wait is over: answer this once the attempt under way has ended
    Rare<AcquireAnswer> leaving;  // while it leaves the queues

    /// It waits, and nobody is there to be told of a grant (G6).
    bool is_left() const { return wait_until && reachable && !reachable() && !mutant("granted_to_nobody"); }

    /// Adds who was found in the way at one of its resources.
    void stands(std::size_t step, ConflictReport found) {
        for (Conflict& conflict : found.conflicts)
            if (conflict.resource.empty()) conflict.resource = attempt->intent(step).resource;
        // Its place is behind those that it found waiting, also when their node's clock is ahead of this one's (T1).
        if (!agent && !wait_until && found.last_plain >= priority) priority = later_than(found.last_plain);
        attempt->standing.add(std::move(found));
    }

    Claim claim(std::size_t step, Token token = 0) const {
        Claim claim = claim_on(attempt->intent(step), attempt->asked);
        claim.ttl = attempt->terms.ttl;
        claim.hold_max = attempt->terms.hold_max;
        claim.ttl_min = attempt->terms.ttl_min;
        claim.token = token;
        return claim;
    }
    /// Without the terms of a grant: enough to see how it stands.
    Claim claim_on(const Intent& intent, const AcquireRequest& asked) const {
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

/// Some of its records are asked for at once: where the store is elsewhere, they take one way there and back together.
/// `ask(step)` sees to it that arrived() is called once for each.
template <class Ask>
void Acquisitions::at_steps(const RequestPtr& request, Steps steps, const Ask& ask, Callback<> then) {
    request->attempt->missing = steps.end - steps.begin + 1;
    request->attempt->then = std::move(then);
    for (std::size_t step = steps.begin; step < steps.end; ++step)
        ask(step);
    arrived(request);
}

/// The answer to a request that was not granted.
inline AcquireBusy busy_answer(Code code, ConflictReport standing) {
    AcquireBusy busy{code, {}, standing.ahead + 1, standing.free_in};
    busy.conflicts.reserve(standing.conflicts.size());
    for (Conflict& conflict : standing.conflicts) {
        // Where only others that wait are in the way, there is no lease whose end could be waited for.
        if (standing.free_in == Duration::zero()) busy.retry_in = std::max(busy.retry_in, conflict.expires_in);
        std::string resource = conflict.resource;
        busy.conflicts.push_back({std::move(resource), std::move(conflict)});
    }
    return busy;
}

}  // namespace holdfast::core
