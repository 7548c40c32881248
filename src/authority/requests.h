#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease.h"
#include "lease/manifest.h"

namespace holdfast::core {

/// Who sent a request, and over which connection. Carried through so that policy may come to depend on it.
struct Caller {
    std::string address;
    std::uint64_t connection = 0;
};

struct AcquireRequest {
    Caller caller;
    std::string holder;
    std::string session;
    std::vector<Intent> intents;  ///< full names
    std::optional<Duration> ttl;
    Duration wait{};
    std::string reason;
    std::string metadata;
    std::string idempotency_key;
};

struct RenewRequest {
    Caller caller;
    std::string holder;
    std::vector<LeaseName> leases;
    std::optional<Duration> ttl;
};

struct ReleaseRequest {
    Caller caller;
    LeaseName name;
    std::string holder;
};

/// What is to change in the policy; what is left out stays.
struct PolicyChange {
    std::optional<Duration> ttl_min, ttl_max, ttl_default, wait_max;
    std::optional<bool> reject_above_max;
    std::optional<std::string> name_pattern;  ///< empty: none
};

}  // namespace holdfast::core
