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

namespace holdfast::core {

/// The rules: pure functions that change a record and say what came of it. They read no clock and no random device,
/// they know no store and no door. Each settles the record first, so that nothing past its time is honoured, swept or
/// not (T2). One reading of the clock serves a whole request (T6).

struct Granted {
    Lease lease;
    std::vector<Lease> superseded;  ///< leases of an earlier life that gave way to it (R5)
};
struct Busy {
    ConflictReport standing;
};
struct Rejected {
    Code code;
};
using AcquireVerdict = std::variant<Granted, Busy, Rejected>;

/// Grants the claim unless somebody is in its way. A granted claim leaves the queue. What the same agent had, and said
/// that it would resume, gives way: it stays reserved, so that taking the new grant back leaves that as it was (R5).
AcquireVerdict acquire(Record& record, const Neighbours& neighbours, const Claim& claim, Instant now);

/// Takes back a grant that is part of a manifest which failed elsewhere (G1). Leaves no trace.
void roll_back(Record& record, Token token);

/// Puts the claim in the queue until `until`, or moves the end of its wait. Rejected if the queue is full.
std::optional<Rejected> enqueue(Record& record, const Claim& claim, Instant until);

/// Takes a waiter out of the queue, if it is there.
void dequeue(Record& record, std::uint64_t request);

struct Renewal {
    Token token = 0;
    std::string_view holder;
    std::string_view resource;      ///< for the policy's pattern
    std::optional<Duration> ttl{};  ///< a new TTL from now on, or the lease's own
    std::optional<std::uint64_t> progress{};
    bool exact = false;  ///< this TTL or none (decide_exact_ttl)
};
struct Renewed {
    Lease lease;                       ///< if a quota left it less than its TTL, with that as its TTL
    std::optional<Duration> cut_from;  ///< the TTL it would have had but for the policy
};
using RenewVerdict = std::variant<Renewed, Rejected>;

/// Extends a lease from now, if it is still this holder's to extend (R1). Passes the whole policy (R7). A shorter TTL
/// does not bring the end forward. A quota may (R6): it cuts what would go beyond it, and refuses when nothing is left.
RenewVerdict renew(Record& record, const Renewal& renewal, const Policy& policy, Instant now);

struct Released {
    Lease lease;
};
struct AlreadyEnded {
    LeaseState state;           ///< released, expired, revoked or unknown
    bool was_reserved = false;  ///< and is not any more
};
using ReleaseVerdict = std::variant<Released, AlreadyEnded, Rejected>;

/// Ends a lease at its holder's wish, and with it what is reserved for that holder. Idempotent, and never ends another
/// lease than the one named (R2).
ReleaseVerdict release(Record& record, Token token, std::string_view holder, Instant now);

/// Allocation-free variants. A returned pointer refers into `record` and is valid until the record is written back;
/// release_in_place() copies into `released`.
struct GrantedInPlace {
    const Lease* lease;
    std::vector<Lease> superseded;
};
using AcquireVerdictInPlace = std::variant<GrantedInPlace, Busy, Rejected>;
AcquireVerdictInPlace acquire_in_place(Record& record, const Neighbours& neighbours, const Claim& claim, Instant now);

struct RenewedInPlace {
    const Lease* lease;
    Duration ttl{};                    ///< as in Renewed
    std::optional<Duration> cut_from;  ///< likewise
};
using RenewVerdictInPlace = std::variant<RenewedInPlace, Rejected>;
RenewVerdictInPlace renew_in_place(Record& record, const Renewal& renewal, const Policy& policy, Instant now);

struct ReleasedInPlace {};
using ReleaseVerdictInPlace = std::variant<ReleasedInPlace, AlreadyEnded, Rejected>;
ReleaseVerdictInPlace release_in_place(Record& record, Token token, std::string_view holder, Lease& released,
                                       Instant now);

/// Ends a lease, or what is left of it as a reservation, at an admin's wish (R7). Rejected if it has ended or was never
/// there.
std::variant<Lease, Rejected> revoke(Record& record, Token token, Instant now);

/// Bars a lease from renewal; it runs out on its timeline (R7). Rejected as revoke().
std::variant<Lease, Rejected> bar(Record& record, Token token, Instant now);

/// Marks the active leases of an agent that is about to restart: they stay reserved for it past their expiry (R5).
/// Returns how many there are.
std::size_t declare_restart(Record& record, std::string_view holder, Instant now);

/// The true state of a lease (R3).
struct Verified {
    LeaseState state = LeaseState::unknown;
    std::optional<Lease> lease;  ///< if active
    std::optional<Duration> ended_ago;
    std::optional<Duration> reserved_for;  ///< if in grace
    std::string reserved_holder;           ///< likewise
    std::vector<Lease> current;            ///< who holds the resource now, limits::named_per_record at most
};
Verified verify(const Record& record, Token token, Instant now);

/// The code that says why a lease that is not active cannot be used.
Code code_for(LeaseState state);

}  // namespace holdfast::core
