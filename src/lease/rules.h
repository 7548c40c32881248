#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/code.h"
#include "lease/conflicts.h"
#include "lease/policy.h"
#include "lease/record.h"
#include "lease/timeline.h"

namespace holdfast::lease {

/// The rules: pure functions that change a record and return a verdict. They read no clock and no random device, and
/// know no store and no door. Each settles the record first, so that nothing past its time is honoured, swept or not
/// (T2). One reading of the clock serves a whole request (T6).
///
/// A pointer in a verdict refers into the record and is valid until the record is changed or written back: a caller
/// that needs the lease for longer copies it.

struct Granted {
    const Lease* lease;
    std::vector<Lease> superseded;  ///< leases of the agent's earlier epoch that the grant replaced (R5)
};
struct Busy {
    ConflictReport standing;
};
struct Rejected {
    Code code;
};
using AcquireVerdict = std::variant<Granted, Busy, Rejected>;

/// Grants the claim unless something conflicts with it. A granted claim leaves the queue. The same agent's resumable
/// leases are superseded. They stay reserved, so that rolling back the new grant restores the reservation (R5).
AcquireVerdict acquire(Record& record, const Neighbours& neighbours, const Claim& claim, Instant now);

/// Undoes a grant of a manifest that failed on another record (G1). Leaves no trace.
void roll_back(Record& record, Token token);

/// Queues the claim until `until`, or changes the deadline of its entry. Rejected if the queue is full.
std::optional<Rejected> enqueue(Record& record, const Claim& claim, Instant until);

/// Removes a waiter from the queue, if it is there.
void dequeue(Record& record, std::uint64_t request);

struct Renewal {
    Token token = 0;
    std::string_view holder;
    std::string_view resource;      ///< for the policy of its namespace
    std::optional<Duration> ttl{};  ///< a new TTL from now on; nullopt: the lease's own
    std::optional<std::uint64_t> progress{};
    bool exact = false;  ///< grant exactly this TTL or refuse (decide_exact_ttl)
};
struct Renewed {
    const Lease* lease;
    Duration ttl{};                    ///< the granted one, which a quota may have cut below the lease's
    std::optional<Duration> cut_from;  ///< the requested TTL, if the policy cut it
};
using RenewVerdict = std::variant<Renewed, Rejected>;

/// Extends a lease from now, if it is active and this holder's (R1). Checks the whole policy (R7). The expiry never
/// becomes earlier, even with a shorter TTL. A quota cuts an extension that would exceed it, and refuses the renewal
/// when nothing is left (R6).
RenewVerdict renew(Record& record, const Renewal& renewal, const Policy& policy, Instant now);

/// A holder's claim that it holds a lease which the store lost with its memory (S1).
struct Reassertion {
    std::string resource;  ///< the full name
    Token token = 0;
    Duration ttl{};
    std::string holder;
    std::string session;
    std::string reason;
    std::string metadata;
};

/// Restores the lease in the record: same holder, same token, a new TTL. Rejected with `unknown_lease` if the record
/// has another lease or anything newer than this one. Rejected with the policy's code if the policy forbids it or would
/// grant a shorter TTL than the holder assumes (T3).
///
/// REQUIRES: this store has granted nothing yet, and the token was issued by an earlier incarnation of it. Then no two
/// holders can both claim one resource: the earlier holder's deadline passed before the later one was granted.
RenewVerdict reassert(Record& record, const Neighbours& neighbours, const Reassertion& reassertion,
                      const Policy& policy, Instant now);

struct Released {};
struct AlreadyEnded {
    LeaseState state;           ///< released, expired, revoked or unknown
    bool was_reserved = false;  ///< it was reserved for this holder; the reservation is now gone
};
using ReleaseVerdict = std::variant<Released, AlreadyEnded, Rejected>;

/// Ends a lease at its holder's request, along with all reservations of that holder in the record. Idempotent; never
/// ends a lease other than the named one (R2). A caller that needs the lease as it was copies it first.
ReleaseVerdict release(Record& record, Token token, std::string_view holder, Instant now);

/// Ends a lease, or the reservation that is left of it, at an admin's request (R7). Rejected if it has ended or never
/// existed.
std::variant<Lease, Rejected> revoke(Record& record, Token token, Instant now);

/// Bars a lease from renewal; it expires on its timeline (R7). Rejected as in revoke().
std::variant<Lease, Rejected> bar(Record& record, Token token, Instant now);

/// Marks the active leases of an agent that is about to restart: they stay reserved for it past their expiry (R5).
/// Returns their number.
std::size_t declare_restart(Record& record, std::string_view holder, Instant now);

/// The true state of a lease (R3).
struct Verified {
    LeaseState state = LeaseState::unknown;
    std::optional<Lease> lease;  ///< if active
    std::optional<Duration> ended_ago;
    std::optional<Duration> reserved_for;  ///< if in grace
    std::string reserved_holder;           ///< likewise
    std::vector<Lease> current;            ///< the current leases of the resource, at most limits::named_per_record
};
Verified verify(const Record& record, Token token, Instant now);

/// The error code for a lease that is not active.
Code code_for(LeaseState state);

}  // namespace holdfast::lease
