#pragma once

#include <optional>
#include <string>

#include "base/callback.h"
#include "base/result.h"
#include "base/time.h"
#include "consensus/log_messages.h"

namespace holdfast::agreed {

/// The state that a log carries. None of these may call the log, except applied().
class StateMachine {
 public:
    virtual ~StateMachine() = default;

    /// The entry at this index takes effect. Called once for each entry of the log, in order.
    virtual void apply(consensus::LogIndex index, const std::string& entry) = 0;
    /// The state after all entries applied so far.
    virtual std::string snapshot() const = 0;
    /// Replaces the state. After an error it is as before.
    virtual Result<void> install(const std::string& snapshot) = 0;
    /// Entries were applied that are not those of an append().
    virtual void applied() {}
};

/// A log of what servers agree on (L3), or of what one server tells its next start. Entries are durable before they are
/// applied. There are three, one for each way to keep leases: of a majority of nodes (consensus_log.h), in the
/// documents of an engine (engine_log.h), and in a file of a server that is alone (local_log.h).
///
/// An implementation applies what it finds at its start before anything can be appended.
class Log {
 public:
    virtual ~Log() = default;

    /// Appends an entry. Calls `done` after it and all before it were applied here, or after a snapshot that contains
    /// it was installed. After an error the entry may still be appended. REQUIRES: an entry that is not empty.
    virtual void append(std::string entry, Callback<Result<void>> done) = 0;

    /// Sets the time. Call it before every other call and whenever next_due() is reached.
    virtual void advance(Instant now) = 0;
    virtual Instant next_due() const = 0;

    /// True if this server may write the first entries of an empty log.
    virtual bool may_found() const { return false; }

    /// Waits for writes under way. Appends that are not answered by now never are.
    virtual void stop() = 0;
};

}  // namespace holdfast::agreed
