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

namespace holdfast::consensus {

/// The place of an entry in the log; the first is 1.
using LogIndex = std::uint64_t;

/// A leader and its term. The term is the token of the lease `leader:log`, which rises with every leader (L1, G3).
struct LogBallot {
    lease::Token term = 0;
    store::quorum::NodeIndex node = 0;

    auto operator<=>(const LogBallot&) const = default;
};

/// An entry as an acceptor keeps it: the value, and the ballot under which it was accepted.
struct LogDecree {
    LogIndex index = 0;
    LogBallot ballot;
    std::string value;

    bool operator==(const LogDecree&) const = default;
};

/// The state after all entries up to an index, in place of those entries.
struct LogSnapshot {
    LogIndex index = 0;
    std::string state;

    bool operator==(const LogSnapshot&) const = default;
};

/// The durable state of one node.
struct LogFound {
    LogBallot promised;
    LogIndex committed = 0;  ///< decrees up to here are chosen, as is the snapshot
    std::optional<LogSnapshot> snapshot;
    std::vector<LogDecree> decrees;  ///< after the snapshot, by index, without a gap
};

/// One write. Durable as a whole or not at all.
struct LogWrite {
    std::optional<LogBallot> promised;
    std::vector<LogDecree> decrees;
    std::optional<LogIndex> committed;
    std::optional<LogSnapshot> snapshot;  ///< decrees up to its index are deleted
};

/// The log's disk: asynchronous, in order. A write that stalls delays only the writes behind it (L2, Q13). The log has
/// one write under way at a time and repeats the same write after a failure.
class LogDisk {
 public:
    virtual ~LogDisk() = default;
    /// Calls `done` once the write is durable, from the loop that runs the log; never from within this call. After an
    /// error nothing of the write is durable.
    virtual void write(LogWrite write, Callback<Result<void>> done) = 0;

    /// Waits until every requested write has succeeded or failed and its answer is on its way.
    virtual void drain() {}
    /// As drain(); all later writes fail.
    virtual void stop() {}
};

// ---- messages between the nodes ----

/// A new leader asks for a promise and for the entries accepted from an index on. Answered once the promise is durable.
struct LogPrepare {
    LogBallot ballot;
    LogIndex from = 1;
};
struct LogPromise {
    LogBallot ballot;
    bool granted = false;
    LogBallot promised;  ///< if not granted: the ballot that caused the refusal
    LogIndex committed = 0;
    std::optional<LogSnapshot> snapshot;  ///< if the requested entries are already folded into it
    std::vector<LogDecree> decrees;       ///< from the requested index, or from after the snapshot
};

/// Entries to accept, and the commit index. Without entries it only announces the commit index and the leader. Entries
/// that were chosen under an earlier ballot are sent under this one too: whatever a later ballot has at that index is
/// the same (L1).
struct LogAccept {
    LogBallot ballot;
    LogIndex committed = 0;
    std::vector<LogDecree> decrees;  ///< without a gap, all under the ballot above
    bool disks_fail = false;         ///< too many disks fail for anything to be committed
};
/// Sent once the entries are durable, and also whenever the disk refuses them, with the index reached by then.
struct LogAccepted {
    LogBallot ballot;
    bool granted = false;
    LogBallot promised;
    LogIndex durable_to = 0;  ///< all entries up to here are durable under this ballot, or committed
    bool disk_fails = false;
};

/// A node that lacks entries asks the leader. The answer is LogAccepts, or a LogInstall followed by LogAccepts.
struct LogFetch {
    LogIndex from = 1;
};
/// Answered like a LogAccept, once durable.
struct LogInstall {
    LogBallot ballot;
    LogSnapshot snapshot;
};

/// An entry that a follower wants appended, and the outcome once it is committed. A leader that is deposed in between
/// does not answer: the outcome is not known yet.
struct LogSubmit {
    std::uint64_t number = 0;  ///< unique in the incarnation of the asking node
    std::string value;
};
struct LogSubmitted {
    std::uint64_t number = 0;
    LogIndex index = 0;  ///< 0 if it was not appended and never will be under this number
};

using LogMessage =
    std::variant<LogPrepare, LogPromise, LogAccept, LogAccepted, LogFetch, LogInstall, LogSubmit, LogSubmitted>;

}  // namespace holdfast::consensus
