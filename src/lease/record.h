#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease.h"
#include "lease/limits.h"

namespace holdfast::core {

/// A request in the queue of a record.
struct Waiter {
    std::uint64_t id = 0;
    Priority priority = 0;
    bool agent = false;
    Predicate predicate = Predicate::mutates;
    Instant until;  ///< from here on it is gone, whether or not anyone took it out
    std::string holder;
    std::string session;

    Rank rank() const { return {priority, agent, holder, id}; }

    bool operator==(const Waiter&) const = default;
};

/// What an agent that restarts had, kept for it: nobody else is granted it, and it is not usable either (R5).
struct Reservation {
    Lease lease;    ///< as it ended
    Instant until;  ///< from here on it is free, whether or not anyone took it out

    bool operator==(const Reservation&) const = default;
};

/// All that is known of one resource: the unit of atomicity. Changed only by the rules in this folder.
///
/// Leases are in the order of their tokens, ended leases and reservations in the order in which they were taken out,
/// waiters oldest first.
struct Record {
    std::vector<Lease> leases;
    std::vector<EndedLease> ended;
    std::vector<Waiter> waiters;
    std::vector<Reservation> reserved;
    std::vector<PastHolding> past;  ///< one of a holder, at most limits::past_holdings_per_record
    Token last_token = 0;
    std::vector<Waiter> absent;  ///< no part of it: waiters of nodes that are gone, who may come back through others
    std::string spare;           ///< no part of it: memory that a holder's name left behind, for the next one to use

    bool empty() const {
        return leases.empty() && ended.empty() && waiters.empty() && reserved.empty() && past.empty();
    }

    Lease* find(Token token);
    const Lease* find(Token token) const;
    const EndedLease* find_ended(Token token) const;
    const Reservation* find_reserved(Token token) const;

    /// Takes the lease out and remembers how it ended. What its agent may resume stays reserved, unless it was ended
    /// by a release or a revocation. REQUIRES: it is one of ours.
    void end(Token token, Ending how, Instant at);

    /// Remembers until when the holder of a lease or a reservation that ends had it, and for how long (R6).
    void remember(const Lease& lease, Instant until);

    bool operator==(const Record& other) const {
        return leases == other.leases && ended == other.ended && waiters == other.waiters &&
               reserved == other.reserved && past == other.past && last_token == other.last_token;
    }
};

/// Takes out what time has ended: leases past expiry, reservations past their grace, waiters past their wait, history
/// past its keep, holdings that count no more (T2, R5, R3, R6).
/// Leases that expired are handed to `on_expired` before they go. Returns true if anything changed.
template <class OnExpired>
bool settle(Record& record, Instant now, OnExpired&& on_expired);
bool settle(Record& record, Instant now);

/// The first instant at which settle() would do something, if it is not before; the far future if never.
Instant next_change(const Record& record);

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
    const auto drop = [&](auto& entries, const auto& is_over) {
        if (entries.empty()) return;  // as most are
        changed |= std::erase_if(entries, is_over) > 0;
    };
    drop(record.reserved, [&](const Reservation& kept) {
        if (now < kept.until) return false;
        record.remember(kept.lease, kept.until);
        return true;
    });
    drop(record.waiters, [&](const Waiter& waiter) { return now >= waiter.until; });
    drop(record.ended, [&](const EndedLease& ended) { return now >= ended.at + limits::ended_kept; });
    drop(record.past, [&](const PastHolding& past) { return now >= past.forgotten_at(); });
    return changed;
}

}  // namespace holdfast::core
