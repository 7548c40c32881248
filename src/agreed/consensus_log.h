#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agreed/log.h"

namespace holdfast::authority {
class Authority;
}

namespace holdfast::agreed {

/// The log of a cluster, of which every node has a copy on its own disk (L1). An entry is appended once a majority has
/// it. A single node is a majority: it leads from the start.
///
/// The leader is the holder of the lease `leader:log`, for which each node is a candidate. Error `unavailable`: there
/// is no leader or no majority.
class ConsensusLog final : public Log {
 public:
    struct Parts {
        StateMachine& machine;
        store::quorum::NodeIndex node = 0;
        std::vector<std::string> members;  ///< each `id=host:port`, in the same order on all nodes; may be only one
        std::unique_ptr<consensus::LogDisk> disk;
        consensus::LogFound found = {};  ///< the contents of the disk
        std::function<void(store::quorum::NodeIndex to, consensus::LogMessage message)> send =
            {};  ///< must not call back
        std::function<void(consensus::LogIndex index, const std::string& entry)> on_applied =
            {};  ///< must not call back
        std::size_t entries_before_snapshot = 1000;
        Duration leader_ttl = 10s;  ///< of the lease `leader:log`; at most the longest TTL of this cluster
        std::uint64_t seed = 0;     ///< different in every incarnation
    };
    explicit ConsensusLog(Parts parts);
    ~ConsensusLog() override;

    /// From the next advance() on, this node is a candidate for the leader. REQUIRES: stop() is called before the
    /// authority is destroyed.
    void stand(authority::Authority& authority);

    void append(std::string entry, Callback<Result<void>> done) override;
    void advance(Instant now) override;
    Instant next_due() const override;
    bool may_found() const override;
    /// Releases the leader's lease first, so that another node may lead at once.
    void stop() override;

    void receive(store::quorum::NodeIndex from, const consensus::LogMessage& message);
    /// A peer has become reachable or unreachable.
    void on_peer(store::quorum::NodeIndex node, bool reachable);

    struct Status {
        consensus::LogIndex committed = 0;
        consensus::LogIndex applied = 0;
        bool leads = false;
        std::optional<store::quorum::NodeIndex> leader;  ///< this node itself, or the last known leader
        consensus::LogBallot ballot;                     ///< under which it leads or follows
    };
    Status status() const;

    /// Waits until all requested writes have finished and their answers are posted.
    void drain();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::agreed
