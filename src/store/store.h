#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "lease/record.h"

namespace holdfast::store {

/// The effect of an update on its record.
enum class Effect : std::uint8_t {
    none,     ///< nothing to write
    changed,  ///< to be written
    freed,    ///< to be written, and something ended: waiters may be due
};

/// One change to one record, as a store sees it. The caller keeps it alive until done() has run.
class Update {
 public:
    virtual ~Update() = default;

    /// Changes the record, given the overlapping records, at the store's own time (T1). May run again on fresher state
    /// if another writer interfered; it must then discard its earlier result. Must not call the store.
    virtual Effect apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) = 0;

    /// Runs once: when the last apply() has taken effect, or with an error when the store gave up and nothing took
    /// effect.
    virtual void done(Result<void> outcome) = 0;
};

/// An update that a store has not answered yet.
struct Pending {
    Update* update;
    Instant give_up_at;
};

/// A change of a lease by a request.
enum class LeaseChange : std::uint8_t { granted, renewed, released, revoked };

/// Notifications from a store. Callbacks must not call the store; they record the event and act later.
class StoreListener {
 public:
    virtual ~StoreListener() = default;

    /// A lease expired; the notification is `late` after its expiry (T5). The record is already settled.
    virtual void on_expired(std::string_view resource, const lease::Lease& lease, Duration late) = 0;

    /// Waiters of this resource that may be due, after something ended in its record or in an overlapping one (G6).
    virtual void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) = 0;

    /// This node observed a change made through any node. Only a store that other nodes write to calls this; with other
    /// stores the requester knows of the change.
    virtual void on_changed(std::string_view, const lease::Lease&, LeaseChange) {}
};

/// A lease and its resource.
struct NamedLease {
    std::string resource;
    lease::Lease lease;
};

/// Which leases to list. Empty text matches everything.
struct ListQuery {
    std::string_view name_space;
    std::string_view prefix;  ///< prefix of the resource within its namespace
    std::string_view holder;
    std::size_t limit = 100;
    std::string_view after{};  ///< `next` of the previous page; empty to start
};
struct ListPage {
    std::vector<NamedLease> leases;
    std::string next{};  ///< an opaque cursor; empty at the end
};

/// A resource that is about to be updated, and the holder. The holder may be empty, and should be if no lease of it
/// begins or ends.
struct Expected {
    std::string_view resource;
    std::string_view holder;
};

/// Keeps records. update() is the only call that changes them; the others only read.
///
/// A store is its own clock (T1). A call runs its callback exactly once, before it returns or later.
class Store {
 public:
    virtual ~Store() = default;

    /// Updates one record, atomically, at the store's own time.
    virtual void update(std::string_view resource, Update& update) = 0;

    /// A hint about the next updates; changes nothing. A store may prefetch all these records, so that the updates do
    /// not wait for them one by one.
    virtual void expect(std::span<const Expected>) {}

    /// The names of the holder's active leases, optionally also of those reserved for it (R5), in unspecified order, at
    /// most `most`.
    enum class Which : std::uint8_t { active, active_or_reserved };
    virtual void leases_of(std::string_view holder, Which which, std::size_t most,
                           Callback<Result<std::vector<lease::LeaseName>>> reply) = 0;

    /// A page of active leases. Reads a bounded number of records, so a page may be short and still have a next one.
    /// The leases of one record are adjacent, and may exceed `limit`. A lease that is active throughout a listing is
    /// listed at least once. Error `invalid_argument`: `after` is not a cursor of this store.
    virtual void list(const ListQuery& query, Callback<Result<ListPage>> reply) = 0;

    virtual std::size_t active_leases() const = 0;
};

/// A store without a clock of its own: its driver passes the time (T6).
class DrivenStore : public Store {
 public:
    /// Sets the time and does the work that is due, at most `steps` pieces. Returns true if more is due: call again
    /// soon, after other work has run. REQUIRES: time does not go back.
    virtual bool advance(Instant now, std::size_t steps = 1000) = 0;

    /// When advance() next has work; Instant::max() if never.
    virtual Instant next_due() const = 0;

    /// Approximate memory of its leases, including memory kept for reuse; zero if they are stored elsewhere.
    virtual std::size_t memory_bytes() const { return 0; }
};

}  // namespace holdfast::store
