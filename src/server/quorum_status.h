#pragma once

#include <optional>
#include <string>

#include "doors/peer/peer_door.h"
#include "server/cluster_settings.h"
#include "store/quorum/quorum_store.h"

namespace holdfast {

/// How far the replicated log of this node is.
struct LogStatus {
    core::LogIndex committed = 0;
    core::LogIndex applied = 0;
    bool leads = false;
};

/// How a node and its cluster are doing, as this node sees it.
struct QuorumStatus {
    const ClusterSettings& settings;
    PeerDoorStatus peers;
    Instant now;
    bool founded = true;
    std::vector<bool> votes;  ///< by member: it is connected and takes part in decisions
    Duration silent_for{};
    std::optional<core::Lease> leader;  ///< the lease of who leads the log
    std::optional<LogStatus> log;
    core::QuorumStore::Counts attempts;

    std::size_t reachable() const;  ///< members, this one included
    std::size_t voting() const;     ///< likewise
    std::string to_json() const;    ///< the answer of GET /v1/quorum
};

}  // namespace holdfast
