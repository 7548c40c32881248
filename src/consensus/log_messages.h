#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "base/time.h"
#include "lease/lease.h"
#include "store/quorum/ballot.h"

namespace holdfast::core {

/// The place of an entry in the log; the first is 1.
using LogIndex = std::uint64_t;

/// Who leads, and in which term: the token of the lease `leader:log`, which rises with every leader (L1, G3).
struct LogBallot {
    Token term = 0;
    NodeIndex node = 0;

    auto operator<=>(const LogBallot&) const = default;
};

/// An entry as an acceptor keeps it: the value, and the ballot under which it was accepted.
struct LogDecree {
    LogIndex index = 0;
    LogBallot ballot;
    std::string value;

    bool operator==(const LogDecree&) const = default;
};

/// All that the entries up to an index have made of the state, in place of those entries.
struct LogSnapshot {
    LogIndex index = 0;
    std::string state;

    bool operator==(const LogSnapshot&) const = default;
};

/// What one node knows durably.
struct LogFound {
    LogBallot promised;
    LogIndex committed = 0;  ///< the decrees up to here are those that were chosen, as is the snapshot
    std::optional<LogSnapshot> snapshot;
    std::vector<LogDecree> decrees;  ///< by index, without a gap, those after the snapshot
};

/// One step of what is written. Durable as a whole or not at all.
struct LogWrite {
    std::optional<LogBallot> promised;
    std::vector<LogDecree> decrees;
    std::optional<LogIndex> committed;
    std::optional<LogSnapshot> snapshot;  ///< decrees up to its index go
};

/// The disk, as the log sees it: asynchronous, in order. A write that stalls delays those behind it and nothing else
/// (L2, Q13). The log has one write under way at a time and writes the same again after a failure.
class LogDisk {
 public:
    virtual ~LogDisk() = default;
    /// Answers later, once it is durable, from the loop that runs the log; never from within this call. After an error
    /// nothing of the write is durable.
    virtual void write(LogWrite write, Callback<Result<void>> done) = 0;

    /// Waits until everything asked for has been written, or has failed, and its answer is on its way.
    virtual void drain() {}
    /// As drain(), and from now on every write fails.
    virtual void stop() {}
};

// ---- what the nodes say to each other ----

/// A new leader asks for a promise and for what was accepted from an index on. Answered once the promise is durable.
struct LogPrepare {
    LogBallot ballot;
    LogIndex from = 1;
};
struct LogPromise {
    LogBallot ballot;
    bool granted = false;
    LogBallot promised;  ///< if not granted: who is in the way
    LogIndex committed = 0;
    std::optional<LogSnapshot> snapshot;  ///< if what was asked for is no longer there
    std::vector<LogDecree> decrees;       ///< from the index asked for, or from after the snapshot
};

/// Entries to keep, and how far the log is committed. Without entries it only tells that, and who leads. Entries that
/// were chosen under an earlier ballot come under this one too: whatever a later ballot has there is the same (L1).
struct LogAccept {
    LogBallot ballot;
    LogIndex committed = 0;
    std::vector<LogDecree> decrees;  ///< without a gap, all under the ballot above
    bool disks_fail = false;         ///< so many disks refuse that nothing can be committed
};
/// Answered once the entries are durable; and also whenever the disk refuses them, with how far it is then.
struct LogAccepted {
    LogBallot ballot;
    bool granted = false;
    LogBallot promised;
    LogIndex durable_to = 0;  ///< all entries up to here are durable under this ballot, or committed
    bool disk_fails = false;
};

/// A node that lacks entries asks whoever leads. The answer is LogAccepts, or a LogInstall with LogAccepts after it.
struct LogFetch {
    LogIndex from = 1;
};
/// Answered like a LogAccept, once it is durable.
struct LogInstall {
    LogBallot ballot;
    LogSnapshot snapshot;
};

/// An entry that a node which does not lead wants appended; and what came of it, once it is committed. A leader that
/// is deposed in between says nothing: nobody knows yet what becomes of it.
struct LogSubmit {
    std::uint64_t number = 0;  ///< among those of the asking node's life
    std::string value;
};
struct LogSubmitted {
    std::uint64_t number = 0;
    LogIndex index = 0;  ///< 0: not appended, and never will be under this number
};

using LogMessage =
    std::variant<LogPrepare, LogPromise, LogAccept, LogAccepted, LogFetch, LogInstall, LogSubmit, LogSubmitted>;

}  // namespace holdfast::core
