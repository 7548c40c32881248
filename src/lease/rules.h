#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lease/code.h"
#include "lease/policy.h"
#include "lease/record.h"
#include "lease/timeline.h"

namespace holdfast::core {

/// The rules: pure functions that change a record and say what came of it. They read no clock and no random device,
/// they know no store and no door. Each settles the record first, so that nothing past its time is honoured, swept or
/// not (T2). One reading of the clock serves a whole request (T6).

/// A claim on one resource, as part of a manifest that has passed the policy.
struct Claim {
    std::string_view holder;
    std::string_view session;
    std::string_view reason;
    std::string_view metadata;
    Predicate predicate = Predicate::mutates;
    Duration ttl{};
    Token token = 0;              ///< fresh: above every token issued before (G3)
    std::uint64_t waiter_id = 0;  ///< its place in the queues, or 0 if it does not wait
};

/// One who stands in the way: a holder, or a request that came first.
struct Conflict {
    Predicate predicate = Predicate::mutates;
    Token token = 0;  ///< 0 for a waiter
    std::string holder;
    std::string reason;
    Duration expires_in{};

    bool operator==(const Conflict&) const = default;
};

struct Granted {
    Lease lease;
};
struct Busy {
    std::vector<Conflict> conflicts;
};
struct Rejected {
    Code code;
};
using AcquireVerdict = std::variant<Granted, Busy, Rejected>;

/// Who stands in the claim's way: active leases of others, and waiters that came first (G2, G6). At most
/// limits::named_per_record of them; empty only if there is nobody.
std::vector<Conflict> conflicts_of(const Record& record, const Claim& claim, Instant now);

/// Grants the claim unless an active lease of another, or a waiter that came first, conflicts with it (G2, G6).
/// A granted claim leaves the queue.
AcquireVerdict acquire(Record& record, const Claim& claim, Instant now);

/// Takes back a grant that is part of a manifest which failed elsewhere (G1). Leaves no trace.
void roll_back(Record& record, Token token);

/// Puts the claim in the queue until `until`, or moves the end of its wait. Rejected if the queue is full.
std::optional<Rejected> enqueue(Record& record, const Claim& claim, Instant until);

/// Takes a waiter out of the queue, if it is there.
void dequeue(Record& record, std::uint64_t waiter_id);

struct Renewal {
    Token token = 0;
    std::string_view holder;
    std::string_view resource;    ///< for the policy's pattern
    std::optional<Duration> ttl;  ///< a new TTL from now on, or the lease's own
};
struct Renewed {
    Lease lease;
    bool ttl_cut = false;
};
using RenewVerdict = std::variant<Renewed, Rejected>;

/// Extends a lease from now, if it is still this holder's to extend (R1). Passes the whole policy (R7). A shorter TTL
/// does not bring the end forward.
RenewVerdict renew(Record& record, const Renewal& renewal, const Policy& policy, Instant now);

struct Released {
    Lease lease;
};
struct AlreadyEnded {
    LeaseState state;  ///< released, expired, revoked or unknown
};
using ReleaseVerdict = std::variant<Released, AlreadyEnded, Rejected>;

/// Ends a lease at its holder's wish. Idempotent, and never ends another lease than the one named (R2).
ReleaseVerdict release(Record& record, Token token, std::string_view holder, Instant now);

/// Ends a lease at an admin's wish (R7). Rejected if it has ended or was never there.
std::variant<Lease, Rejected> revoke(Record& record, Token token, Instant now);

/// Bars a lease from renewal; it runs out on its timeline (R7). Rejected as revoke().
std::variant<Lease, Rejected> bar(Record& record, Token token, Instant now);

/// The true state of a lease (R3).
struct Verified {
    LeaseState state = LeaseState::unknown;
    std::optional<Lease> lease;  ///< if active
    std::optional<Duration> ended_ago;
    std::vector<Lease> current;  ///< who holds the resource now, limits::named_per_record at most
};
Verified verify(const Record& record, Token token, Instant now);

/// The code that says why a lease that is not active cannot be used.
Code code_for(LeaseState state);

}  // namespace holdfast::core
