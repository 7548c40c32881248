#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease.h"
#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/policy.h"

namespace holdfast::authority {

/// The sender of a request and its connection. Passed through so that policy can depend on it.
struct Caller {
    std::string address;
    std::uint64_t connection = 0;
    bool node = false;                             ///< the node itself, for agreement among the nodes
    lease::Owner acts_for = lease::Owner::nobody;  ///< the service whose own request this is; no door sets it
};

struct AcquireRequest {
    Caller caller;
    std::string holder;
    std::optional<std::uint64_t> epoch;  ///< of an agent; none: the latest seen
    std::string session;
    std::vector<lease::Intent> intents;  ///< full names
    std::optional<Duration> ttl;
    Duration wait{};
    std::optional<std::uint64_t> progress;
    std::string reason;
    std::string metadata;
    std::string idempotency_key;
    std::function<bool()> reachable;  ///< whether the client can still be answered (G6); none: always
};

struct LeaseToRenew {
    lease::LeaseName name;
    std::optional<std::uint64_t> progress;
};
struct RenewRequest {
    Caller caller;
    std::string holder;
    std::optional<std::uint64_t> epoch;
    std::vector<LeaseToRenew> leases;
    std::optional<std::uint64_t> progress;  ///< for all of them, if the request names no leases
    std::optional<Duration> ttl;
};

struct ReleaseRequest {
    Caller caller;
    lease::LeaseName name;
    std::string holder;
    std::optional<std::uint64_t> epoch{};
    std::string session{};  ///< the session it was acquired in, which only the leader of a group knows (R2)
};

/// Registers or updates an agent.
struct AgentRequest {
    Caller caller;
    std::string id;
    std::optional<lease::Priority> priority;
    std::optional<std::uint64_t> epoch;
};

/// A change of the policy of one namespace; omitted settings keep their value.
struct PolicyChange {
    std::string name_space{lease::default_namespace};
    std::optional<Duration> ttl_min, ttl_max, ttl_default, wait_max;
    std::optional<bool> reject_above_max;
    std::optional<std::string> name_pattern;     ///< empty: none
    std::optional<Duration> hold_max, idle_max;  ///< zero: no limit
    std::optional<std::size_t> leases_per_holder_max;
    std::optional<lease::Approval> approval;    ///< only for the default namespace or that of services
    std::vector<lease::PolicySetting> inherit;  ///< not for the default namespace: these are inherited again
};

}  // namespace holdfast::authority
