#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease.h"
#include "lease/limits.h"

namespace holdfast::lease {

/// A request in the queue of a record.
struct Waiter {
    std::uint64_t id = 0;
    Priority priority = 0;
    bool agent = false;
    Predicate predicate = Predicate::mutates;
    Instant until;  ///< from then on it does not count, even if still in the record
    std::string holder;
    std::string session;

    Rank rank() const { return {priority, agent, holder, id}; }

    bool operator==(const Waiter&) const = default;
};

/// A lease of a restarting agent, kept for it. No other holder is granted it, and the lease itself is not usable (R5).
struct Reservation {
    Lease lease;    ///< as it ended
    Instant until;  ///< from then on it does not count, even if still in the record

    bool operator==(const Reservation&) const = default;
};

/// All state of one resource: the unit of atomicity. Changed only by the rules in this folder.
///
/// Leases are ordered by token, ended leases and reservations by when they were removed, waiters oldest first.
struct Record {
    std::vector<Lease> leases;
    std::vector<EndedLease> ended;
    std::vector<Waiter> waiters;
    std::vector<Reservation> reserved;
    std::vector<PastHolding> past;  ///< one per holder, at most limits::past_holdings_per_record
    Token last_token = 0;
    std::vector<Waiter> absent;  ///< not part of the state: waiters of lost nodes, which may return through others
    std::string spare;           ///< not part of the state: the buffer of a removed holder name, for reuse

    bool empty() const {
        return leases.empty() && ended.empty() && waiters.empty() && reserved.empty() && past.empty();
    }

    Lease* find(Token token);
    const Lease* find(Token token) const;
    const EndedLease* find_ended(Token token) const;
    const Reservation* find_reserved(Token token) const;

    /// Removes the lease and records how it ended. A resumable lease that expired stays reserved for its agent; a
    /// release or a revocation reserves nothing. REQUIRES: the lease is in this record.
    void end(Token token, Ending how, Instant at);

    /// Records the holding time of a lease or reservation that ends at `until`, if it is metered (R6).
    void remember(const Lease& lease, Instant until);

    bool operator==(const Record& other) const {
        return leases == other.leases && ended == other.ended && waiters == other.waiters &&
               reserved == other.reserved && past == other.past && last_token == other.last_token;
    }
};

/// Removes what is past its time: expired leases, reservations past their grace, waiters past their deadline, history
/// past limits::ended_kept, holdings with no charge left (T2, R5, R3, R6).
/// Expired leases are passed to `on_expired` before they are removed. Returns true if anything changed.
template <class OnExpired>
bool settle(Record& record, Instant now, OnExpired&& on_expired);
bool settle(Record& record, Instant now);

/// The earliest instant at which settle() would change something; Instant::max() if never.
Instant next_change(const Record& record);

/// The records of the resources that overlap with one resource: one of the two is a tree and contains the other
/// (lease/resource.h). A store passes them to a rule together with the record itself, as of the same instant.
class Neighbours {
 public:
    virtual ~Neighbours() = default;

    /// Return false to stop.
    using Visit = std::function<bool(std::string_view resource, const Record& record)>;

    /// Visits every record that may have a lease, a reservation or a waiter whose predicate conflicts with this one.
    /// The records are not settled: they may contain expired entries (T2).
    virtual void visit(Predicate predicate, const Visit& visit) const = 0;
};

/// For resources that overlap with no other, as most do.
class NoNeighbours final : public Neighbours {
 public:
    void visit(Predicate, const Visit&) const override {}
};

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

}  // namespace holdfast::lease
