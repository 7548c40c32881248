#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "consensus/log_messages.h"

namespace holdfast::core {

/// Brings to disk what an acceptor must remember, in the order in which it came about: what is on disk is always a
/// state that the acceptor was in. One write is under way at a time, and what comes about meanwhile goes with the next.
/// A write that failed is tried again after a while, along with what came later; so nothing is ever written over a gap.
class LogWriter {
 public:
    struct Parts {
        LogDisk& disk;
        Duration retry_after;
        std::function<void(const LogWrite&)> on_durable;
        std::function<void(const Error&)> on_failed = {};  ///< what was asked for is tried again
    };
    explicit LogWriter(Parts parts) : parts_(std::move(parts)) {}

    void promise(LogBallot ballot);
    void accept(LogDecree decree);
    void snapshot(LogSnapshot snapshot);
    /// How far the log is committed can be learnt again: it goes with the next write, or alone after `retry_after`.
    void commit(LogIndex index);

    /// Numbers what was asked for, without commit(): of the last, and of the last that is durable.
    std::uint64_t asked() const { return asked_; }
    std::uint64_t durable() const { return durable_; }

    /// Starts a write if there is something to write and none is under way.
    void flush(Instant now);
    /// When flush() has something to do that it has not now; the far future if an answer of the disk comes first.
    Instant due() const;

 private:
    /// Changes that wait, merged into what is left to write of them.
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
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holdfast::core
