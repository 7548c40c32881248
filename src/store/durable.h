#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "auth/auth_change.h"
#include "base/callback.h"
#include "base/result.h"
#include "lease/lease.h"
#include "lease/policy.h"

namespace holdfast::store {

/// The durable part of an agent (G5).
struct SavedAgent {
    std::string id;
    lease::Priority priority = 0;
    std::uint64_t epoch = 1;
    bool restarting = false;

    bool operator==(const SavedAgent&) const = default;
};

/// An admin's action: who, when and what, for people to read.
struct AuditEntry {
    std::string who;
    std::int64_t at_wall_ms = 0;
    std::string what;

    bool operator==(const AuditEntry&) const = default;
};
struct AuditPage {
    struct Line {
        std::uint64_t number = 0;  ///< starts at 1
        AuditEntry entry;
    };
    std::vector<Line> lines;
    bool more = false;
};

/// State that a server keeps on its own disk. Callbacks run later, on the loop that runs the authority. No call is on
/// the path of a grant.
class LocalDurable {
 public:
    virtual ~LocalDurable() = default;

    /// Ensures that no later start issues a token up to and including `ceiling` again (G3).
    virtual void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) = 0;

    /// Stores the longest TTL that this server grants. A start after an unclean stop waits for the longest TTL that was
    /// in use (S1).
    virtual void save_ttl_max(Duration ttl_max, Callback<Result<void>> done) = 0;
};

struct ForgottenAgent {
    std::string id;
};
/// Only the audit entry, for an admin's action that changes a lease and not this state.
struct OnlyAudited {};

/// A change of the state that survives a restart and is the same on every server: the whole policy with its bans (R7),
/// a new agent or the new state of a known one (G5), the end of an agent, which need not be there, or a change of who
/// may do what (A2, A6).
using Change = std::variant<lease::Policy, SavedAgent, ForgottenAgent, auth::AuthChange, OnlyAudited>;

/// State that survives a restart and is the same on every server. Callbacks run as in LocalDurable.
class Durable {
 public:
    virtual ~Durable() = default;

    /// As LocalDurable::reserve_tokens().
    virtual void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) = 0;

    /// Makes a change, and stores the audit entry with it if an audit is kept. Error `conflict`, for a policy that
    /// other servers may change too: the stored policy is no longer the one this was derived from. By then this server
    /// has received the newer policy. For a change of who may do what: the errors of auth::AuthState.
    virtual void submit(Change change, std::optional<AuditEntry> audit, Callback<Result<void>> done) = 0;

    /// Entries with numbers above `after`, in order. The oldest entries may have been dropped.
    virtual AuditPage audit(std::uint64_t /*after*/, std::size_t /*limit*/) const { return {}; }
};

}  // namespace holdfast::store
