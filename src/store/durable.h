#pragma once

#include <string>
#include <string_view>

#include "base/callback.h"
#include "base/result.h"
#include "lease/lease.h"
#include "lease/policy.h"

namespace holdfast::core {

/// An agent as it survives a restart (G5).
struct SavedAgent {
    std::string id;
    Priority priority = 0;
    std::uint64_t epoch = 1;
    bool restarting = false;

    bool operator==(const SavedAgent&) const = default;
};

/// What must survive a restart. Calls answer later, from the loop that runs the authority; none is on the path of a
/// grant.
class Durable {
 public:
    virtual ~Durable() = default;

    /// Makes it certain that no token up to and including `ceiling` is issued again by a later life (G3).
    virtual void reserve_tokens(Token ceiling, Callback<Result<void>> done) = 0;

    /// Stores the policy, bans included, whole (R7).
    virtual void save_policy(const Policy& policy, Callback<Result<void>> done) = 0;

    /// Stores an agent, or what has become of it.
    virtual void save_agent(const SavedAgent& agent, Callback<Result<void>> done) = 0;
    /// Success if it is not there either.
    virtual void forget_agent(std::string_view id, Callback<Result<void>> done) = 0;
};

}  // namespace holdfast::core
