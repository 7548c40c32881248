#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "doors/peer/members.h"
#include "lease/policy.h"
#include "server/server.h"
#include "statefile/state_db.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::server {

/// The validated settings of a cluster node.
struct ClusterSettings {
    doors::peer::Members members;
    std::string listen;  ///< HOST:PORT
    std::string secret;
    Duration longest_ttl{};
    double rho = 0;

    store::quorum::QuorumConfig config(store::quorum::BootNumber boot) const;
    statefile::StateOwner owner() const;

    /// For a first start, when no admin has set a policy yet: lowers the policy's TTLs to the longest TTL that all
    /// members agreed on.
    void fit(lease::Policy& policy) const;
    /// Error `invalid_policy` if the policy allows a lease longer than longest_ttl: an acceptor that lost its memory
    /// would not stay silent until such a lease ends (Q10).
    Result<void> check(const lease::Policy& policy) const;
};

/// Empty if the options name no cluster. Errors: `invalid_argument`, or as peer::read_cluster_secret().
Result<std::optional<ClusterSettings>> read_cluster_settings(const ServeOptions& options);

}  // namespace holdfast::server
