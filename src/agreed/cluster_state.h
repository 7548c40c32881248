#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "auth/auth_state.h"
#include "base/result.h"
#include "consensus/log_messages.h"
#include "lease/policy.h"
#include "store/durable.h"

namespace holdfast::agreed::pb {
class AuthChange;
class Command;
class PolicyChange;
}  // namespace holdfast::agreed::pb

namespace holdfast::agreed {

// ---- the entries of the log, as commands ----
//
// A further kind of change is a message in log.proto with its encoding, effect and place in a snapshot here, and what
// its caller is answered (Agreement::save()). The compiler asks for each.

/// Changes the policy that had this version from `before` to `after`; only the difference travels.
struct PolicyCommand {
    std::uint64_t base_version = 0;
    const lease::Policy& before;
    const lease::Policy& after;
};
/// Changes access control, of which this was the version.
struct AuthCommand {
    std::uint64_t base_version = 0;
    const auth::AuthChange& change;
};
/// The members, each as `id=host:port`, written once by the first leader.
struct MembersCommand {
    std::vector<std::string> members;
};

using ClusterCommand = std::variant<PolicyCommand, store::SavedAgent, store::ForgottenAgent, AuthCommand,
                                    MembersCommand, store::OnlyAudited>;

/// A command as an entry of the log. `id` is chosen by the submitter: unique among all nodes and incarnations, and the
/// same in every attempt at one change.
struct SubmittedCommand {
    std::uint64_t id = 0;
    std::optional<store::AuditEntry> audit;
};
std::string encode_command(const SubmittedCommand& header, const ClusterCommand& command);

/// The outcome of a command: it took effect; or the state that it was based on has changed since; or it would exceed a
/// limit.
enum class CommandOutcome : std::uint8_t { applied, conflict, refused };
struct CommandResult {
    CommandResult(CommandOutcome of) : outcome(of) {}  // NOLINT: most outcomes say it all
    CommandResult(Error error) : outcome(CommandOutcome::refused), why(std::move(error)) {}

    CommandOutcome outcome;
    std::optional<Error> why{};  ///< of a change of access control that was refused

    bool operator==(CommandOutcome other) const { return outcome == other; }
};

/// The state that the log carries (L3), determined by its entries alone: the same entries make the same state on every
/// node. Policy with its bans (R7), agents (G5), access control (A2, A6), the members, and the audit of admin actions.
///
/// A change of the policy takes effect only if the policy has not changed since (by version), so that a change that is
/// submitted twice takes effect once. The same holds for access control: a copy of a grant that is applied late must
/// not restore what was revoked since. An agent older than the stored one has no effect. An epoch that has declared its
/// end stays ended, even if the submitter did not know of that yet (R5).
class ClusterState {
 public:
    static constexpr std::size_t max_audit = 10'000;           ///< then the oldest are dropped
    static constexpr std::size_t max_audit_bytes = 1 << 20;    ///< then the oldest are dropped
    static constexpr std::size_t max_audit_text_bytes = 1024;  ///< of one entry; longer text is cut
    static constexpr std::size_t max_state_bytes = 6 << 20;    ///< of bans and agents; commands beyond it are refused.
                                                               ///< Access control has limits of its own (auth/limits.h)

    /// Called after each entry, once the state has changed. Must not call the log.
    struct Listener {
        std::function<void(std::uint64_t id, const CommandResult& result)> command_done = {};
        std::function<void(const lease::Policy& policy)> policy_changed = {};
        std::function<void(const auth::AuthState& auth)> auth_changed = {};
        std::function<void(const store::SavedAgent& agent, bool forgotten)> agent_changed = {};
        std::function<void()> replaced = {};  ///< by a snapshot; everything may differ
    };
    explicit ClusterState(Listener listener) : listener_(std::move(listener)) {}

    void apply(consensus::LogIndex index, const std::string& entry);
    std::string snapshot() const;
    /// Error `state_corrupt`, with nothing changed, if it is not a snapshot or violates an invariant of this state.
    Result<void> install(const std::string& snapshot);

    const lease::Policy& policy() const { return policy_; }
    std::uint64_t policy_version() const { return policy_version_; }
    const auth::AuthState& auth() const { return auth_; }
    const std::map<std::string, store::SavedAgent, std::less<>>& agents() const { return agents_; }
    const std::vector<std::string>& members() const { return members_; }
    const std::deque<store::AuditEntry>& audit() const { return audit_; }
    /// The entries with numbers above `after`, by number.
    store::AuditPage audit(std::uint64_t after, std::size_t limit) const;

    /// Error `members_differ`, naming both lists, if the cluster has other members.
    Result<void> check_members(const std::vector<std::string>& members) const;
    /// Set permanently by an entry that this version does not understand: this node may not have the same state as the
    /// others.
    const std::optional<Error>& trouble() const { return trouble_; }

 private:
    /// Returns nullopt for a command of a newer version.
    std::optional<CommandResult> apply_command(const pb::Command& in);
    CommandOutcome change_policy(const pb::PolicyChange& change);
    std::optional<CommandResult> change_auth(const pb::AuthChange& in);
    CommandOutcome save_agent(store::SavedAgent agent);
    CommandOutcome forget_agent(const std::string& id);
    CommandOutcome set_members(std::vector<std::string> members);
    void add_audit(store::AuditEntry entry);

    Listener listener_;
    lease::Policy policy_;
    std::uint64_t policy_version_ = 0;
    std::size_t policy_bytes_ = 0;
    auth::AuthState auth_;
    std::map<std::string, store::SavedAgent, std::less<>> agents_;
    std::size_t agent_bytes_ = 0;
    std::vector<std::string> members_;
    std::deque<store::AuditEntry> audit_;
    std::size_t audit_bytes_ = 0;
    std::uint64_t audit_count_ = 0;  ///< the number of the last entry
    std::optional<Error> trouble_;
};

}  // namespace holdfast::agreed
