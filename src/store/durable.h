#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// What an admin did, who it was and when, for people to read.
struct AuditEntry {
    std::string who;
    std::int64_t at_wall_ms = 0;
    std::string what;

    bool operator==(const AuditEntry&) const = default;
};
struct AuditPage {
    struct Line {
        std::uint64_t number = 0;  ///< from 1 on
        AuditEntry entry;
    };
    std::vector<Line> lines;
    bool more = false;
};

/// What a server keeps on its own disk. Calls answer later, from the loop that runs the authority; none is on the path
/// of a grant.
class LocalDurable {
 public:
    virtual ~LocalDurable() = default;

    /// Makes it certain that no token up to and including `ceiling` is issued again by a later start (G3).
    virtual void reserve_tokens(Token ceiling, Callback<Result<void>> done) = 0;

    /// Stores the longest TTL that this server grants. A start after an unclean stop waits for the longest that was in
    /// use (S1).
    virtual void save_ttl_max(Duration ttl_max, Callback<Result<void>> done) = 0;
};

/// What must survive a restart and is the same on every server. Calls answer as those of LocalDurable.
class Durable {
 public:
    virtual ~Durable() = default;

    /// As LocalDurable::reserve_tokens().
    virtual void reserve_tokens(Token ceiling, Callback<Result<void>> done) = 0;

    /// Stores the policy, bans included, whole (R7). Error `conflict`, where others may change it too: it is not the
    /// one that it was made from any more. Whoever made it has been told of the newer one by then.
    virtual void save_policy(const Policy& policy, Callback<Result<void>> done) = 0;

    /// Stores an agent, or what has become of it.
    virtual void save_agent(const SavedAgent& agent, Callback<Result<void>> done) = 0;
    /// Success if it is not there either.
    virtual void forget_agent(std::string_view id, Callback<Result<void>> done) = 0;

    // Where an audit is kept, an admin's change goes into it along with the change.
    virtual void save_policy_by(const AuditEntry&, const Policy& policy, Callback<Result<void>> done) {
        save_policy(policy, std::move(done));
    }
    virtual void forget_agent_by(const AuditEntry&, std::string_view id, Callback<Result<void>> done) {
        forget_agent(id, std::move(done));
    }
    /// Of an action that changed nothing here, such as the end of a lease.
    virtual void note(const AuditEntry&) {}
    /// Those with numbers above `after`, by number; the oldest have made room.
    virtual AuditPage audit(std::uint64_t /*after*/, std::size_t /*limit*/) const { return {}; }
};

}  // namespace holdfast::core
