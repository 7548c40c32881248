#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lease/neighbours.h"
#include "lease/record.h"

namespace holdfast::core {

/// A claim on one resource, as part of a manifest that has passed the policy.
struct Claim {
    std::string_view holder;
    std::string_view session;  ///< empty: one of its own, which no other claim and no lease shares (G2)
    std::string_view reason;
    std::string_view metadata;
    Predicate predicate = Predicate::mutates;
    Duration ttl{};
    Duration hold_max{};  ///< R6: how long a holder may keep it; zero: for ever
    Duration ttl_min{};   ///< less than this is not worth granting when hold_max cuts it
    std::optional<std::uint64_t> progress;
    Priority priority = 0;  ///< of the agent, or the time of arrival
    bool agent = false;
    Token token = 0;               ///< fresh: above every token that this node has issued or seen (G3)
    std::uint64_t request = 0;     ///< the number of the request: its id in the queues
    bool queued = false;           ///< it is in the queues already
    std::uint64_t takes_over = 0;  ///< the entry whose place it takes: its own, of before it moved to this node (G6)
    bool replaces_own = false;     ///< what its holder has without a session ends with its grant: not in its way

    Rank rank() const { return {priority, agent, holder, request}; }
};

/// One who stands in the way: a holder, one who is coming back (R5), or a request that is served first.
struct Conflict {
    Predicate predicate = Predicate::mutates;
    Token token = 0;  ///< 0 for a waiter
    bool reserved = false;
    std::string resource;  ///< empty: the one that was claimed
    std::string holder;
    std::string reason;
    Duration expires_in{};

    bool operator==(const Conflict&) const = default;
};

/// How a claim stands: who is in its way, and what that means for it. Everyone in the way counts, not only those that
/// are named (G5).
struct ConflictReport {
    std::vector<Conflict> conflicts;  ///< empty only if nobody is in the way; limits::named_per_record of a record
    std::size_t ahead = 0;            ///< how many requests are served before it
    Priority last_plain = std::numeric_limits<Priority>::min();  ///< the highest of the plain requests among those
    std::uint64_t own_entry = 0;  ///< of a plain request: the oldest entry in the queue of the same party; 0: none
    Priority own_place = 0;       ///< and where that stands
    Duration free_in{};           ///< when it could be free, if nobody lets go earlier
    bool older_holder = false;    ///< an agent that is not younger holds, or comes back to, something in the way
    bool older_waiter = false;    ///< an agent that is not younger waits ahead of it
    bool too_many = false;        ///< more are in the way than are looked at

    bool free() const { return conflicts.empty(); }
    /// Keeps the oldest of them.
    void find_own(std::uint64_t entry, Priority place) {
        if (own_entry != 0 && own_place <= place) return;
        own_entry = entry;
        own_place = place;
    }
    /// Adds how another claim of the same manifest stands.
    void add(ConflictReport other);
};

/// Who stands in the claim's way: active leases and reservations of others, and requests that are served first
/// (G2, G6). A holder is never in its own way in the same session, nor is what it left for itself to resume (R5).
ConflictReport standing_of(const Record& record, const Neighbours& neighbours, const Claim& claim, Instant now);

/// What a claim that is not free may do (G5).
enum class Turn : std::uint8_t { wait, die };

/// Wait-die. A plain request may wait for anybody. An agent may wait only for younger holders, else it is told to die.
///
/// That alone leaves two ways into a circle: an older request may be put in the queue before one that waits already,
/// and it may then become a holder. Both are harmless to an agent that holds nothing, because nobody waits for it; one
/// that holds something is told to die. So, of the agents that hold something, each waits only for younger holders, and
/// no chain of them can close (docs/decisions/0006-wait-die.md).
Turn judge(const ConflictReport& standing, const Claim& claim, bool holds_something);

/// The agents' requests in these queues that come after the claim and conflict with it: once it is granted or queued
/// before them, judge() may find otherwise for them.
std::vector<std::uint64_t> outranked_by(const Record& record, const Neighbours& neighbours, const Claim& claim);

/// The waiters of the record whose turn it may be now, oldest first: those with nobody in the way (G6). One freed
/// place wakes only those it can serve.
std::vector<std::uint64_t> due_waiters(const Record& record, const Neighbours& neighbours, Instant now);

}  // namespace holdfast::core
