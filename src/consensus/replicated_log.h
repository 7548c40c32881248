#pragma once

#include "consensus/log_messages.h"

namespace holdfast::core {

/// One node's part of the replicated log (L1 to L3): it keeps what it accepted durably, applies what is committed in
/// order, and appends if it leads. A pure state machine: no clock, no thread, no socket, and the disk is asynchronous.
///
/// Who leads is decided elsewhere, by the lease `leader:log`, and told here with the term, which is the lease's token.
/// On taking over a leader asks a majority what they accepted, completes it under its own ballot, once, and then
/// appends with one round each, several in flight. Safety does not depend on the lease: two that both believe to lead
/// have different ballots, and acceptors refuse the lower one (L1).
///
/// What a node may apply. A leader's commit index covers what this node accepted under that very leader's ballot, and
/// what it knew to be committed before. An entry that it accepted under an older ballot may not be the one that was
/// chosen there, so it is not applied, however far the log is committed, until the leader has sent the place again
/// under its own ballot.
///
/// Entries are bytes, at least one and at most `max_value_bytes`. The state they make is somebody else's: `apply` is
/// called for each committed entry, in order, once per life, after what a snapshot had. A leader fills places that
/// nobody is known to have accepted anything for with empty entries; those are committed but not applied.
///
/// Bounded: what is accepted and not committed (`max_entries_in_flight`, `max_bytes_in_flight`), what waits to be
/// appended (`max_submissions`, `max_submission_bytes`), what one message carries (`max_message_bytes`, unless one
/// entry or a snapshot is larger by itself), what is kept before it becomes a snapshot.
class ReplicatedLog {
 public:
    static constexpr std::size_t max_value_bytes = 256 * 1024;
    static constexpr std::size_t max_entries_in_flight = 256;
    static constexpr std::size_t max_bytes_in_flight = 4 << 20;
    static constexpr std::size_t max_submissions = 1024;
    static constexpr std::size_t max_submission_bytes = 8 << 20;
    static constexpr std::size_t max_message_bytes = 1 << 20;
    static constexpr std::size_t bytes_before_snapshot = 1 << 20;
    /// The state must not make larger ones: with the entries after it, it has room in one message between peers.
    static constexpr std::size_t max_snapshot_bytes = 8 << 20;

    struct Parts {
        NodeIndex node = 0;
        std::uint8_t members = 1;
        LogDisk& disk;
        LogFound found;
        std::uint64_t seed = 0;  ///< different in every life: its submissions are numbered from here
        Duration resend_after = 500ms;
        Duration give_up_after = 5s;                 ///< then an append is answered with `unavailable`
        std::size_t entries_before_snapshot = 1000;  ///< then what is applied is folded into a snapshot
        /// Carries a message, or loses it; never to this node itself. Neither this nor what follows may call back.
        std::function<void(NodeIndex to, LogMessage message)> send;
        std::function<void(LogIndex index, const std::string& value)> apply;
        std::function<std::string()> take_snapshot;             ///< of all that was applied
        std::function<void(const std::string& state)> install;  ///< in place of all that was applied
    };
    /// Installs and applies what an earlier life knew to be committed. A single member is a majority: all it has.
    explicit ReplicatedLog(Parts parts);
    ~ReplicatedLog();
    ReplicatedLog(const ReplicatedLog&) = delete;
    ReplicatedLog& operator=(const ReplicatedLog&) = delete;

    /// The time, before every call and whenever next_due() is reached.
    void advance(Instant now);
    Instant next_due() const;
    void receive(NodeIndex from, const LogMessage& message);

    /// This node holds the leader's lease under this token, from now on until told otherwise; REQUIRES: a term above
    /// all it led in before, in this life or another, or the one it leads in. Does nothing if it has promised a higher
    /// ballot. And: it does not, and who does, if that is known.
    void lead(Token term);
    void follow(std::optional<NodeIndex> leader);
    bool leads() const;  ///< and has completed what was there
    std::optional<NodeIndex> leader() const;

    /// Appends here or through the leader. Answered once it is committed and applied on this node, at once if it cannot
    /// be tried; errors: `unavailable` (nobody leads, or it was not heard of in time: it may still be appended),
    /// `too_large`, `too_many`. The answer may call append(). REQUIRES: a value that is not empty.
    void append(std::string value, Callback<Result<LogIndex>> done);

    LogIndex committed() const;
    LogIndex applied() const;
    /// The ballot it follows or leads under: the highest it has promised.
    LogBallot ballot() const;

    /// As its leader sees a follower: how far it has the log durably. Nothing for those it has not heard of.
    std::optional<LogIndex> durable_on(NodeIndex node) const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::core
