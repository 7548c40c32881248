#pragma once

#include <deque>
#include <optional>
#include <string>

#include "consensus/log_messages.h"

namespace holdfast::consensus {

/// The promises and entries of one acceptor, in memory; the disk follows (log_writer.h).
///
/// Entries have no gaps: they start after the snapshot, at `base` + 1, and end at `last`. Three marks divide them:
/// - `committed`: up to here each entry is the one that was chosen;
/// - `held_to`: up to here each entry is committed or was accepted under the ballot promised last, so that the leader
///   of that ballot has the same entries. Entries beyond were accepted under older ballots: a new leader must hear of
///   them, but they may not be the ones that are chosen in the end;
/// - `durable_to`: as `held_to`, and on disk. It never goes down while the promise stays, not even by a crash.
class LogEntries {
 public:
    struct Entry {
        LogBallot ballot;
        std::string value;
        bool durable = false;
    };

    explicit LogEntries(LogFound found);

    LogBallot promised() const { return promised_; }
    LogIndex base() const { return snapshot_ ? snapshot_->index : 0; }
    LogIndex last() const { return base() + entries_.size(); }
    LogIndex committed() const { return committed_; }
    LogIndex held_to() const { return held_to_; }
    LogIndex durable_to() const { return durable_to_; }
    const std::optional<LogSnapshot>& snapshot() const { return snapshot_; }
    /// REQUIRES: base() < index <= last().
    const Entry& at(LogIndex index) const;
    /// The entries from an index on, with the ballots under which they were accepted. REQUIRES: base() < from.
    std::vector<LogDecree> from(LogIndex from) const;

    /// REQUIRES: a ballot above the one promised before.
    void promise(LogBallot ballot);
    /// Accepts the entry after held_to() under the promised ballot.
    void accept(std::string value);
    /// REQUIRES: index <= held_to().
    void commit(LogIndex index);
    /// Replaces the entries that the snapshot covers. Entries accepted beyond it stay: they may have been chosen.
    void install(LogSnapshot snapshot);
    /// Called once `write` is durable.
    void written(const LogWrite& write);

 private:
    Entry& entry(LogIndex index) { return entries_[index - base() - 1]; }
    void find_marks();

    LogBallot promised_;
    std::optional<LogSnapshot> snapshot_;
    std::deque<Entry> entries_;
    LogIndex committed_ = 0;
    LogIndex held_to_ = 0;
    LogIndex durable_to_ = 0;
    LogIndex durable_base_ = 0;
};

}  // namespace holdfast::consensus
