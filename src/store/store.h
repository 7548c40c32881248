#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "lease/neighbours.h"
#include "lease/record.h"

namespace holdfast::core {

/// What an update did to its record.
enum class Effect : std::uint8_t {
    none,     ///< nothing to write
    changed,  ///< to be written
    freed,    ///< to be written, and something ended: waiters may have their turn
};

/// One change to one record, as a store sees it. The caller keeps it alive until done() has run.
class Update {
 public:
    virtual ~Update() = default;

    /// Decides on the record as it stands, with the records that overlap with it, at the store's own time (T1). May run
    /// again on fresher state when another writer came between; it then forgets what it decided before. Must not call
    /// the store.
    virtual Effect apply(Record& record, const Neighbours& neighbours, Instant now) = 0;

    /// Runs once, when the last apply() has taken effect, or when the store gave up (and nothing took effect).
    virtual void done(Result<void> outcome) = 0;
};

/// What has become of a lease by somebody's request.
enum class LeaseChange : std::uint8_t { granted, renewed, released, revoked };

/// What a store tells of its own accord. Must not call the store back: take note, and act later.
class StoreListener {
 public:
    virtual ~StoreListener() = default;

    /// A lease ran out, `late` after its time (T5). The record is settled already.
    virtual void on_expired(std::string_view resource, const Lease& lease, Duration late) = 0;

    /// Waiters of this resource whose turn it may be, after something in its record, or in one that overlaps with it,
    /// ended (G6).
    virtual void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) = 0;

    /// What this node sees of a change, whoever made it. Only a store that other nodes write to tells this; else who
    /// asks for the change knows of it.
    virtual void on_changed(std::string_view, const Lease&, LeaseChange) {}
};

/// A lease with the resource it is of.
struct NamedLease {
    std::string resource;
    Lease lease;
};

/// Which leases to list. Empty text matches everything.
struct ListQuery {
    std::string_view name_space;
    std::string_view prefix;  ///< of the resource within its namespace
    std::string_view holder;
    std::size_t limit = 100;
    std::string_view after{};  ///< `next` of the page before; empty to start
};
struct ListPage {
    std::vector<NamedLease> leases;
    std::string next{};  ///< text of the store's own; empty at the end
};

/// A resource that is about to be updated, and by whom. The holder may be empty, and should be if neither a lease of it
/// begins nor one ends.
struct Expected {
    std::string_view resource;
    std::string_view holder;
};

/// Where records live. One verb to change them; the rest is for looking.
///
/// A store is its own clock (T1). Calls may answer before they return or later; never both.
class Store {
 public:
    virtual ~Store() = default;

    /// Updates one record, atomically, at the store's own time.
    virtual void update(std::string_view resource, Update& update) = 0;

    /// What will be updated next: a hint that changes nothing. A store may begin to fetch what it has of all of them,
    /// so that they do not wait for it one after the other.
    virtual void expect(std::span<const Expected>) {}

    /// The names of the holder's active leases, or also of those that are reserved for it (R5), in no promised order,
    /// at most `most` of them.
    enum class Which : std::uint8_t { active, active_or_reserved };
    virtual void leases_of(std::string_view holder, Which which, std::size_t most,
                           Callback<Result<std::vector<LeaseName>>> reply) = 0;

    /// A page of active leases. Looks at a bounded number of records, so a page may be short and still have a next one.
    /// Those of one record follow one another, even over the limit. Those active throughout a listing are listed once,
    /// at least. Error `invalid_argument`: `after` is not of this store.
    virtual void list(const ListQuery& query, Callback<Result<ListPage>> reply) = 0;

    virtual std::size_t active_leases() const = 0;
};

/// A store that has no clock of its own: whoever drives it says what time it is (T6).
class DrivenStore : public Store {
 public:
    /// Sets the time and does what has become due, at most `steps` pieces of work. Returns true if there is more to do:
    /// then call again soon, after other work had its turn. REQUIRES: time does not go back.
    virtual bool advance(Instant now, std::size_t steps = 1000) = 0;

    /// When advance() has something to do next; Instant::max() if nothing is to come.
    virtual Instant next_due() const = 0;

    /// About how much memory its leases take, with what is kept for the next ones; zero if they are elsewhere.
    virtual std::size_t memory_bytes() const { return 0; }
};

}  // namespace holdfast::core
