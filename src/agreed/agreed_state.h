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

namespace holdfast::authority {
class Authority;
}

namespace holdfast::agreed {

/// The state that servers agree on besides leases (L3), between the log that carries it and the authority of this
/// server. Changes go into the log. Entries that come out of it, from any server, are passed to the authority before
/// the caller that asked for them is answered. The owner chooses the log.
class AgreedState {
 public:
    struct Parts {
        /// Appends an entry to the log. `done` is called after apply() was called for it, or after a snapshot that
        /// contains it was installed; with an error if the outcome is unknown.
        std::function<void(std::string entry, Callback<Result<void>> done)> append;
        std::function<std::optional<Error>()> refusal;  ///< the reason if nothing can be changed now
        std::function<void()> on_policy;                ///< another policy was agreed on: notify the authority
        std::function<void(const Error&)> on_failure;   ///< failures that no caller waits for
        std::uint64_t first_id = 1;                     ///< of commands; unique among all servers and incarnations
    };
    explicit AgreedState(Parts parts);

    // ---- for the log ----
    void apply(consensus::LogIndex index, const std::string& entry) { state_.apply(index, entry); }
    Result<void> install(const std::string& snapshot) { return state_.install(snapshot); }
    std::string snapshot() const { return state_.snapshot(); }
    /// Passes new state to the authority. Never called from within the log, since the authority may append.
    void deliver();
    /// Marks all state so far as known to the authority.
    void delivered();

    // ---- for changes ----
    void use(authority::Authority& authority) { authority_ = &authority; }
    std::uint64_t next_id() { return next_id_++; }
    using Done = Callback<Result<std::optional<CommandOutcome>>>;  ///< nullopt if it is only known to be in a snapshot
    void append(std::uint64_t id, std::string entry, Done done);
    /// Answers as Durable::submit(). REQUIRES: the change is not one of the policy.
    void submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done);
    /// Changes the policy `before`, which has this version. Answers as Durable::submit().
    void submit_policy(const std::optional<store::AuditEntry>& audit, const PolicyCommand& change,
                       Callback<Result<void>> done);
    /// The version of the policy that was passed to the authority last.
    std::uint64_t shown_version() const { return shown_version_; }
    /// Answers all waiting callers with the error.
    void stop(const Error& why);

    const ClusterState& state() const { return state_; }

 private:
    struct UnderWay {
        Done done;
        std::optional<CommandOutcome> outcome{};
    };

    void submit_command(const std::optional<store::AuditEntry>& audit, const ClusterCommand& command, Done done);
    void save(const store::SavedAgent& agent, const std::optional<store::AuditEntry>& audit,
              Callback<Result<void>> done);
    void save(const store::ForgottenAgent& agent, const std::optional<store::AuditEntry>& audit,
              Callback<Result<void>> done);
    void save(const store::OnlyAudited&, const std::optional<store::AuditEntry>& audit, Callback<Result<void>> done);
    bool is_audited(const store::AuditEntry& audit) const;

    Parts parts_;
    std::uint64_t next_id_;
    std::map<std::uint64_t, UnderWay> under_way_;                     // by id
    std::vector<std::pair<store::SavedAgent, bool>> agents_changed_;  // true if forgotten
    bool policy_changed_ = false;
    bool replaced_ = false;
    bool delivering_ = false;
    std::uint64_t shown_version_ = 0;  // of the policy that was passed to the authority
    ClusterState state_;
    authority::Authority* authority_ = nullptr;
};

}  // namespace holdfast::agreed
