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

/// The validated settings of a cluster node.
struct ClusterSettings {
    peer::Members members;
    std::string listen;  ///< HOST:PORT
    std::string secret;
    Duration longest_ttl{};
    double rho = 0;

    core::QuorumConfig config(core::BootNumber boot) const;
    StateOwner owner() const;

    /// For a first start, when no admin has set a policy yet: lowers the policy's TTLs to the longest TTL that all
    /// members agreed on.
    void fit(core::Policy& policy) const;
    /// Error `invalid_policy` if the policy allows a lease longer than longest_ttl: an acceptor that lost its memory
    /// would not stay silent until such a lease ends (Q10).
    Result<void> check(const core::Policy& policy) const;
};

/// Empty if the options name no cluster. Errors: `invalid_argument`, or as peer::read_cluster_secret().
Result<std::optional<ClusterSettings>> read_cluster_settings(const ServeOptions& options);

}  // namespace holdfast
