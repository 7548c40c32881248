#pragma once

#include <optional>
#include <string>

#include "doors/peer/peer_door.h"
#include "server/cluster_settings.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::server {

/// The state of this node's replicated log.
struct LogStatus {
    consensus::LogIndex committed = 0;
    consensus::LogIndex applied = 0;
    bool leads = false;
};

/// The state of a node and its cluster, as this node sees it.
struct QuorumStatus {
    const ClusterSettings& settings;
    doors::peer::PeerDoorStatus peers;
    Instant now;
    bool founded = true;
    std::vector<bool> votes;  ///< by member: whether it is connected and votes
    Duration silent_for{};
    std::optional<lease::Lease> leader;  ///< the lease of the log's leader
    std::optional<LogStatus> log;
    store::quorum::QuorumStore::Counts attempts;

    std::size_t reachable() const;  ///< number of members, this one included
    std::size_t voting() const;     ///< likewise
    std::string to_json() const;    ///< the response of GET /v1/quorum
};

}  // namespace holdfast::server
