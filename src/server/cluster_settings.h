#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "doors/peer/members.h"
#include "lease/policy.h"
#include "server/server.h"
#include "statefile/state_db.h"
#include "store/quorum/quorum_config.h"

namespace holdfast {

/// What makes a server a node of a cluster, checked.
struct ClusterSettings {
    peer::Members members;
    std::string listen;  ///< HOST:PORT
    std::string secret;
    Duration longest_ttl{};
    double rho = 0;

    core::QuorumConfig config(core::BootNumber boot) const;
    StateOwner owner() const;

    /// For a first start, whose policy nobody has chosen: no longer TTL than all members agreed on.
    void fit(core::Policy& policy) const;
    /// Error `invalid_policy` if it allows a lease for longer: an acceptor that lost its memory would not wait for its
    /// end (Q10).
    Result<void> check(const core::Policy& policy) const;
};

/// Nothing if the options say nothing of a cluster. Error `invalid_argument`, or as peer::read_cluster_secret().
Result<std::optional<ClusterSettings>> read_cluster_settings(const ServeOptions& options);

}  // namespace holdfast
