#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lease/record.h"

namespace holdfast::lease {

/// A claim on one resource, as part of a manifest that has passed the policy.
struct Claim {
    std::string_view holder;
    std::string_view session;  ///< empty: a session of its own, shared with no other claim or lease (G2)
    std::string_view reason;
    std::string_view metadata;
    Predicate predicate = Predicate::mutates;
    Duration ttl{};
    Duration hold_max{};  ///< R6: the longest time a holder may keep it; zero: no limit
    Duration ttl_min{};   ///< if hold_max cuts the TTL below this, the claim is refused
    std::optional<std::uint64_t> progress;
    Priority priority = 0;  ///< the agent's priority, or the arrival time of a plain request
    bool agent = false;
    Token token = 0;               ///< fresh: above every token that this node has issued or seen (G3)
    std::uint64_t request = 0;     ///< the request number, which is its id in the queues
    bool queued = false;           ///< already in the queues
    std::uint64_t takes_over = 0;  ///< id of its own entry from before it moved to this node; takes its place (G6)
    bool replaces_own = false;     ///< the grant ends its holder's leases without a session, so they do not conflict

    Rank rank() const { return {priority, agent, holder, request}; }
};

/// One conflict of a claim: a lease, a reservation (R5), or a waiter that is served first.
struct Conflict {
    Predicate predicate = Predicate::mutates;
    Token token = 0;  ///< 0 for a waiter
    bool reserved = false;
    std::string resource;  ///< empty: the claimed resource
    std::string holder;
    std::string reason;
    Duration expires_in{};

    bool operator==(const Conflict&) const = default;
};

/// The conflicts of a claim and their consequences. All conflicts count, not only those listed in `conflicts` (G5).
struct ConflictReport {
    std::vector<Conflict> conflicts;  ///< empty only if the claim is free; at most limits::named_per_record per record
    std::size_t ahead = 0;            ///< number of requests that are served before it
    Priority last_plain = std::numeric_limits<Priority>::min();  ///< the highest of the plain ones among them
    std::uint64_t own_entry = 0;  ///< plain requests only: the oldest queue entry of the same party; 0: none
    Priority own_place = 0;       ///< the priority of that entry
    Duration free_in{};           ///< time until it is free, if no holder releases earlier
    bool older_holder = false;    ///< an agent that is not younger holds or has reserved something that conflicts
    bool older_waiter = false;    ///< an agent that is not younger waits ahead
    bool too_many = false;        ///< the search stopped at limits::obstacles

    bool free() const { return conflicts.empty(); }
    /// Keeps the oldest entry found.
    void find_own(std::uint64_t entry, Priority place) {
        if (own_entry != 0 && own_place <= place) return;
        own_entry = entry;
        own_place = place;
    }
    /// Merges the report of another claim of the same manifest.
    void add(ConflictReport other);
};

/// Finds the conflicts of a claim: active leases and reservations of others, and requests that are served first (G2,
/// G6). A holder never conflicts with itself in the same session, nor with the leases it left to resume (R5).
ConflictReport standing_of(const Record& record, const Neighbours& neighbours, const Claim& claim, Instant now);

/// Whether a claim that is not free may wait (G5).
enum class Turn : std::uint8_t { wait, die };

/// Wait-die. A plain request may wait for any holder. An agent may wait only for younger holders; otherwise it must
/// die.
///
/// That alone leaves two ways to form a cycle: an older request may be queued ahead of one that already waits, and it
/// may then become a holder. Both are harmless to an agent that holds nothing, because no request waits for it. An
/// agent that holds something must die. So each agent that holds something waits only for younger holders, and no wait
/// cycle can form (docs/decisions/0006-wait-die.md).
Turn judge(const ConflictReport& standing, const Claim& claim, bool holds_something);

/// Returns the queued requests of agents that rank after the claim and conflict with it. Once the claim is granted or
/// queued ahead of them, judge() may decide differently for them.
std::vector<std::uint64_t> outranked_by(const Record& record, const Neighbours& neighbours, const Claim& claim);

/// Returns the waiters of the record that no longer conflict with anything, oldest first (G6). A freed place wakes only
/// the waiters it can serve.
std::vector<std::uint64_t> due_waiters(const Record& record, const Neighbours& neighbours, Instant now);

}  // namespace holdfast::lease
