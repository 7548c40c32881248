#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease.h"
#include "lease/limits.h"

namespace holdfast::core {

/// A request in the queue of a record. `id` orders the queue: lower is older and is served first.
struct Waiter {
    std::uint64_t id = 0;
    Predicate predicate = Predicate::mutates;
    Instant until;  ///< from here on it is gone, whether or not anyone took it out
    std::string holder;
    std::string session;

    bool operator==(const Waiter&) const = default;
};

/// All that is known of one resource: the unit of atomicity. Changed only by the rules in this folder.
///
/// Leases are in the order of their tokens, ended leases in the order in which they were taken out, waiters oldest
/// first.
struct Record {
    std::vector<Lease> leases;
    std::vector<EndedLease> ended;
    std::vector<Waiter> waiters;
    Token last_token = 0;

    bool empty() const { return leases.empty() && ended.empty() && waiters.empty(); }

    Lease* find(Token token);
    const Lease* find(Token token) const;
    const EndedLease* find_ended(Token token) const;

    /// Takes the lease out and remembers how it ended. REQUIRES: it is one of ours.
    void end(Token token, Ending how, Instant at);

    bool operator==(const Record&) const = default;
};

/// Takes out what time has ended: leases past expiry, waiters past their wait, history past its keep (T2, R3).
/// Leases that expired are handed to `on_expired` before they go. Returns true if anything changed.
template <class OnExpired>
bool settle(Record& record, Instant now, OnExpired&& on_expired);
bool settle(Record& record, Instant now);

/// The first instant at which settle() would do something, if it is not before; the far future if never.
Instant next_change(const Record& record);

/// The waiters whose turn it may be now, oldest first: those whose predicate is compatible with every lease and every
/// older waiter but their own (G6). One freed place wakes only those it can serve.
std::vector<std::uint64_t> due_waiters(const Record& record, Instant now);

// ---- implementation ----

template <class OnExpired>
bool settle(Record& record, Instant now, OnExpired&& on_expired) {
    bool changed = false;
    for (std::size_t i = 0; i < record.leases.size();) {
        const Lease& lease = record.leases[i];
        if (lease.active(now)) {
            ++i;
            continue;
        }
        on_expired(lease);
        record.end(lease.token, Ending::expired, lease.expires_at);
        changed = true;
    }
    changed |= std::erase_if(record.waiters, [&](const Waiter& waiter) { return now >= waiter.until; }) > 0;
    changed |=
        std::erase_if(record.ended, [&](const EndedLease& ended) { return now >= ended.at + limits::ended_kept; }) > 0;
    return changed;
}

}  // namespace holdfast::core
