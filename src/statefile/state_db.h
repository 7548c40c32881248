#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lease/policy.h"
#include "lease/record.h"
#include "statefile/sqlite.h"
#include "store/quorum/ballot.h"
#include "store/quorum/peer_lives.h"

namespace holdfast::statefile {

/// How the previous incarnation ended.
enum class LastStop : std::uint8_t { none, clean, unclean };

/// The owner of the state: a single server or, with the name of a node, one member of a cluster.
struct StateOwner {
    std::string node;
    std::string members;     ///< the ids of all members, in order, separated by commas
    Duration longest_ttl{};  ///< of the cluster: the limit of every member's leases

    bool alone() const { return node.empty(); }
};

/// The state that an acceptor must keep over a clean stop besides its registers (Q10).
struct AcceptorMarks {
    lease::Token highest_token = 0;
    std::uint64_t highest_counter = 0;  ///< of all ballots that it has seen
    store::quorum::Ballot forgotten;
};

/// The state found at a start: all that an authority must know of earlier incarnations.
struct Found {
    LastStop last_stop = LastStop::none;
    bool damaged = false;  ///< it was clean, but the saved state does not match its checksum, so it counts as unclean
    lease::Token token_ceiling = 0;              ///< every token up to here may have been issued (G3)
    Duration ttl_max = lease::Policy{}.ttl_max;  ///< the longest TTL that this server may grant

    /// S1: until then unknown leases of earlier incarnations may be active. Reservations (R5) are lost along with the
    /// leases in an unclean stop, but do not require a longer wait: a reserved resource is not used, so no two holders
    /// can come to use it.
    Instant recovering_until{};

    store::quorum::BootNumber boot = 1;  ///< of this start (Q2)
    std::uint64_t directory = 0;         ///< a number that no other state file has
    std::vector<std::uint64_t>
        founders;         ///< for a node: the directories of all members; empty if it has agreed to nothing
    AcceptorMarks marks;  ///< of a clean stop; after an unclean one only the ceiling is known

    std::vector<store::quorum::LifeMark> lives;       ///< incarnations of this directory, in order, including this one
    std::vector<store::quorum::LifeMark> peer_lives;  ///< for a node, by member: the latest incarnations met (Q12)
};

/// Opens the state file, or creates it if there is none. A file that is damaged, empty, not ours or of another version
/// is refused (`state_corrupt`, `state_too_new`, `state_too_old`) and left as it is: starting afresh over it would
/// forget which tokens were issued (G3) and which leases may be active (S1).
///
/// REQUIRES: the directory is locked (StateDir), so that no other process has the file.
Result<std::unique_ptr<Sqlite>> open_state_file(const std::string& path);

/// The state file: token ceiling, longest TTL and, between a clean stop and the next start, the live records; in a
/// cluster with the ballots of their registers. The state that servers agree on is in the replicated log.
///
/// Blocking. Used by one thread at a time: the starting thread, then DurableState's worker, then the stopping thread.
/// Every call is one transaction, durable once it returns success. Errors: see sqlite.h.
class StateDb {
 public:
    /// Reads the state; `clock` is read once for the whole start (T6). Changes nothing that matters to a later start.
    /// Error `other_owner` if another owner has started with it.
    static Result<std::unique_ptr<StateDb>> open(const std::string& path, ClockReading clock, StateOwner owner = {});

    const Found& found() const { return found_; }

    /// The ballots of a single server are zero.
    using TakeUp = std::function<void(std::string_view resource, const lease::Record& record,
                                      const store::quorum::RegisterBallots& ballots)>;
    /// Begins this incarnation: passes on the records of a clean stop, on this incarnation's clock and settled, and
    /// marks the state unclean until stop_cleanly(). One transaction, so that records are taken up once. Nothing may be
    /// granted or sent to other nodes before it succeeded: its boot number is durable from here on (Q2). Returns the
    /// longest TTL that now counts (LongestTtl).
    Result<Duration> begin(const TakeUp& take_up);

    /// Never lowers it (G3).
    Result<void> reserve_tokens(lease::Token ceiling);

    /// Raises the longest TTL along with it (S1).
    Result<void> save_ttl_max(Duration ttl_max);
    Result<void> lower_longest_ttl(Duration ttl);

    /// The directories that founded the cluster. The node must not agree to anything before they are durable
    /// (server/cluster_founding.h).
    Result<void> save_founders(const std::vector<std::uint64_t>& directories);

    /// The latest incarnations of the peers, by member. The node must not agree to anything with a peer before the
    /// peer's incarnation is durable here (Q12).
    Result<void> save_peer_lives(const std::vector<store::quorum::LifeMark>& lives);

    using Records = std::function<void(const TakeUp& save)>;
    /// Ends this incarnation: saves the live records and marks the state clean, with a checksum over all saved data.
    /// Nothing may be granted, renewed or released after the clock was read. A recovery that is not over continues in
    /// the next incarnation.
    Result<void> stop_cleanly(const ClockReading& clock, Instant recovering_until, const Records& records,
                              const AcceptorMarks& marks = {});

 private:
    StateDb(std::unique_ptr<Sqlite> database, ClockReading clock, StateOwner owner);

    void check_owner();
    void read_found();
    void distrust();
    std::int64_t checksum();
    void read_marks();
    void read_founders();
    void read_lives();
    void read_ttl_max();
    Duration take_up_records(const TakeUp& take_up);
    std::int64_t meta(std::string_view name);
    std::string meta_text(std::string_view name);
    void set_meta(std::string_view name, std::int64_t value);
    void set_meta_text(std::string_view name, std::string_view value);

    std::unique_ptr<Sqlite> database_;
    ClockReading clock_;
    StateOwner owner_;
    Found found_;
    Duration shift_{};  ///< from the clock of the clean stop to this incarnation's
};

}  // namespace holdfast::statefile
