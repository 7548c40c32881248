#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/alive.h"
#include "consensus/log_messages.h"

namespace holdfast::consensus {

/// Writes an acceptor's state to disk in the order of its changes: the disk always shows a state that the acceptor was
/// in. One write is under way at a time; changes made meanwhile go with the next. A failed write is retried after a
/// delay, together with later changes, so nothing is ever written over a gap.
class LogWriter {
 public:
    struct Parts {
        LogDisk& disk;
        Duration retry_after;
        std::function<void(const LogWrite&)> on_durable;
        std::function<void(const Error&)> on_failed = {};  ///< the write is retried
    };
    explicit LogWriter(Parts parts) : parts_(std::move(parts)) {}

    void promise(LogBallot ballot);
    void accept(LogDecree decree);
    void snapshot(LogSnapshot snapshot);
    /// The commit index can be learnt again: it goes with the next write, or alone after `retry_after`.
    void commit(LogIndex index);

    /// The number of the last requested change, and of the last durable one. commit() is not counted.
    std::uint64_t asked() const { return asked_; }
    std::uint64_t durable() const { return durable_; }

    /// Starts a write if there is something to write and none is under way.
    void flush(Instant now);
    /// When flush() will next have something to do; Instant::max() if that depends on an answer of the disk.
    Instant due() const;

 private:
    /// Pending changes, merged.
    struct Changes {
        std::optional<LogBallot> promised;
        std::map<LogIndex, LogDecree> decrees;
        std::optional<LogIndex> committed;
        std::optional<LogSnapshot> snapshot;
        bool urgent = false;
    };

    LogWrite take_changes();
    void finished(const Result<void>& outcome);
    void take_back(LogWrite write);

    Parts parts_;
    Changes changes_;
    std::optional<LogWrite> under_way_;
    std::uint64_t asked_ = 0;
    std::uint64_t asked_under_way_ = 0;
    std::uint64_t durable_ = 0;
    Instant now_{};
    std::optional<Instant> not_before_;  ///< after a failure
    std::optional<Instant> commit_by_;
    Alive alive_;
};

}  // namespace holdfast::consensus
