#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agreed/cluster_state.h"
#include "base/callback.h"

namespace holdfast::core {

class Authority;

/// What servers agree on besides leases (L3), between the log that carries it and the authority of this server.
/// Changes go into the log; what comes out of it, from whichever server, is told to the authority before whoever asked
/// for it is answered. Which log that is, is its owner's business.
class AgreedState {
 public:
    struct Parts {
        /// Puts an entry at the end of the log. Answered when apply() was called for it, or a snapshot that has it was
        /// installed; with an error if what becomes of it is not known.
        std::function<void(std::string entry, Callback<Result<void>> done)> append;
        std::function<std::optional<Error>()> refusal;  ///< why nothing can be changed now
        std::function<void()> on_policy;                ///< another one is agreed on: tell the authority
        std::function<void(const Error&)> on_failure;   ///< what nobody waits for
        std::uint64_t first_id = 1;                     ///< of commands: no other server, nor life, has the same
    };
    explicit AgreedState(Parts parts);

    // ---- for the log ----
    void apply(LogIndex index, const std::string& entry) { state_.apply(index, entry); }
    Result<void> install(const std::string& snapshot) { return state_.install(snapshot); }
    std::string snapshot() const { return state_.snapshot(); }
    /// Tells the authority of what has come. Never called from within the log, since the authority may want to append.
    void deliver();
    /// What has come so far is known to the authority.
    void delivered();

    // ---- for changes ----
    void use(Authority& authority) { authority_ = &authority; }
    std::uint64_t next_id() { return next_id_++; }
    using Done = Callback<Result<std::optional<CommandOutcome>>>;  ///< nothing: known only to be in a snapshot
    void append(std::uint64_t id, std::string entry, Done done);
    void submit(const std::optional<AuditEntry>& audit, const ClusterCommand& command, Done done);
    /// A change of the policy that has this version and is `before`. Answers as Durable::save_policy().
    void submit_policy(const std::optional<AuditEntry>& audit, const PolicyCommand& change,
                       Callback<Result<void>> done);
    /// Of the policy that the authority was told last.
    std::uint64_t shown_version() const { return shown_version_; }
    void save_agent(const SavedAgent& agent, Callback<Result<void>> done);
    void forget_agent(const std::optional<AuditEntry>& audit, std::string id, Callback<Result<void>> done);
    void note(const AuditEntry& audit);
    /// Whoever waits is told the error.
    void stop(const Error& why);

    const ClusterState& state() const { return state_; }

 private:
    struct UnderWay {
        Done done;
        std::optional<CommandOutcome> outcome{};
    };

    bool is_audited(const AuditEntry& audit) const;

    Parts parts_;
    std::uint64_t next_id_;
    std::map<std::uint64_t, UnderWay> under_way_;              // by id
    std::vector<std::pair<SavedAgent, bool>> agents_changed_;  // true: forgotten
    bool policy_changed_ = false;
    bool replaced_ = false;
    bool delivering_ = false;
    std::uint64_t shown_version_ = 0;  // of the policy that the authority was told
    ClusterState state_;
    Authority* authority_ = nullptr;
};

}  // namespace holdfast::core
