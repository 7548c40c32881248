#pragma once

#include "consensus/log_messages.h"

namespace holdfast::consensus {

/// One node's part of the replicated log (L1 to L3). It persists the entries that it accepts, applies committed entries
/// in order, and appends if it leads. A pure state machine: no clock, no thread, no socket, and the disk is
/// asynchronous.
///
/// The leader is chosen elsewhere, by the lease `leader:log`, and passed in with the term, which is the lease's token.
/// A new leader asks a majority for the entries that they accepted, completes these under its own ballot, once, and
/// then appends with one round each, several in flight. Safety does not depend on the lease: two nodes that both
/// believe to lead have different ballots, and acceptors refuse the lower one (L1).
///
/// A node may apply the entries that it accepted under the current leader's ballot, up to that leader's commit index,
/// and the entries that it already knew to be committed. An entry accepted under an older ballot may not be the one
/// that was chosen at its index. It is not applied, however far the log is committed, until the leader has sent that
/// index again under its own ballot.
///
/// Entries are bytes, at least one and at most `max_value_bytes`. The state that they make is kept by the caller:
/// `apply` is called for each committed entry, in order, once per incarnation, starting after the snapshot. A leader
/// fills an index for which no accepted entry is known with an empty entry; empty entries are committed but not
/// applied.
///
/// Limits: entries accepted and not committed (`max_entries_in_flight`, `max_bytes_in_flight`), submissions waiting to
/// be appended (`max_submissions`, `max_submission_bytes`), the size of a message (`max_message_bytes`, unless one
/// entry or a snapshot is larger by itself), and the entries kept before they are folded into a snapshot.
class ReplicatedLog {
 public:
    static constexpr std::size_t max_value_bytes = 256 * 1024;
    static constexpr std::size_t max_entries_in_flight = 256;
    static constexpr std::size_t max_bytes_in_flight = 4 << 20;
    static constexpr std::size_t max_submissions = 1024;
    static constexpr std::size_t max_submission_bytes = 8 << 20;
    static constexpr std::size_t max_message_bytes = 1 << 20;
    static constexpr std::size_t bytes_before_snapshot = 1 << 20;
    /// The state must not make larger snapshots: with the entries after it, a snapshot must fit into one message
    /// between peers.
    static constexpr std::size_t max_snapshot_bytes = 8 << 20;

    struct Parts {
        store::quorum::NodeIndex node = 0;
        std::uint8_t members = 1;
        LogDisk& disk;
        LogFound found;
        std::uint64_t seed = 0;  ///< different in every incarnation; its submissions are numbered from here
        Duration resend_after = 500ms;
        Duration give_up_after = 5s;                 ///< then an append fails with `unavailable`
        std::size_t entries_before_snapshot = 1000;  ///< then the applied entries are folded into a snapshot
        /// Sends a message, which may be lost; never to this node itself. Neither this nor the functions below may call
        /// back.
        std::function<void(store::quorum::NodeIndex to, LogMessage message)> send;
        std::function<void(LogIndex index, const std::string& value)> apply;
        std::function<std::string()> take_snapshot;             ///< returns the state after all applied entries
        std::function<void(const std::string& state)> install;  ///< replaces the state
    };
    /// Installs and applies the entries that an earlier incarnation knew to be committed. A single member is a
    /// majority: it applies all that it has.
    explicit ReplicatedLog(Parts parts);
    ~ReplicatedLog();
    ReplicatedLog(const ReplicatedLog&) = delete;
    ReplicatedLog& operator=(const ReplicatedLog&) = delete;

    /// Sets the time. Call it before every other call and whenever next_due() is reached.
    void advance(Instant now);
    Instant next_due() const;
    void receive(store::quorum::NodeIndex from, const LogMessage& message);

    /// lead(): this node holds the leader's lease under this token until the next call of either function. REQUIRES: a
    /// term above all terms that this node led in before, in any incarnation, or the current one. Does nothing if a
    /// higher ballot was promised. follow(): this node does not hold the lease; `leader` does, if known.
    void lead(lease::Token term);
    void follow(std::optional<store::quorum::NodeIndex> leader);
    bool leads() const;  ///< and has completed the earlier entries
    std::optional<store::quorum::NodeIndex> leader() const;

    /// Appends here or through the leader. Calls `done` once the entry is committed and applied on this node, or at
    /// once if it cannot be tried. Errors: `unavailable` (no leader, or no answer in time: it may still be appended),
    /// `storage_failed` (too many disks fail: it is appended once they recover), `too_large`, `too_many`. `done` may
    /// call append(). REQUIRES: a value that is not empty.
    void append(std::string value, Callback<Result<LogIndex>> done);

    LogIndex committed() const;
    LogIndex applied() const;
    /// The highest ballot promised, under which this node follows or leads.
    LogBallot ballot() const;

    /// For a leader: the index up to which a follower has the log durably. Nullopt if nothing was heard from it.
    std::optional<LogIndex> durable_on(store::quorum::NodeIndex node) const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::consensus
