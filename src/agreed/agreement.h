#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agreed/cluster_state.h"
#include "agreed/log.h"
#include "agreed/ttl_in_force.h"
#include "base/alive.h"

namespace holdfast::authority {
class Authority;
}

namespace holdfast::agreed {

/// The first entries of a log: the initial policy, and last the members. A log without members is not founded: founding
/// is then repeated, with the same effect.
struct Founding {
    lease::Policy policy;
    std::vector<std::string> members;
};
struct FoundingEntry {
    std::uint64_t id = 0;
    std::string value;
};
std::vector<FoundingEntry> founding_entries(const Founding& founding, std::uint64_t policy_version,
                                            const std::function<std::uint64_t()>& next_id);

/// The members as recorded in the log: a single node may change its address.
std::vector<std::string> recorded_members(const std::vector<std::string>& members);

/// Founds the log of a single server before any change can be made, in one write: whole or not at all. `first_id` is
/// the first id of its commands.
consensus::LogWrite founding_alone(const Founding& founding, std::uint64_t first_id);

/// What servers agree on besides leases (L3): policy with its bans (R7), agents (G5), access control (A2, A6) and the
/// audit of admin actions, between the log that carries it and the authority of this server. A change goes into the
/// log. What comes out of it, from any server, is passed to the authority before the one that asked for it is answered.
///
/// Errors of submit(): `unavailable` (as named in Parts) if the log takes nothing now; the change is not in force,
/// though it may still come into force. `conflict`: the policy has changed meanwhile, and the authority has the new
/// one; the change must be made again from that. For a change of access control: the errors of auth::AuthState.
///
/// Pure: time, disks and the log are passed in.
class Agreement final : public store::Durable, private StateMachine {
 public:
    struct Parts {
        /// This server's own disk: it has the longest TTL that is in force here (S1). Null if the engine keeps it.
        store::LocalDurable* disk = nullptr;
        Duration ttl_max_on_disk = lease::Policy{}.ttl_max;  ///< so in force already
        bool reserves_tokens = true;  ///< on that disk; false: the store sees to the ceiling of tokens (Q11)

        std::optional<Founding> founding = {};  ///< empty: a log without members is complete

        /// Refuses a policy, or prepares for it, before it is appended.
        std::function<void(const lease::Policy&, Callback<Result<void>> done)> before_policy = {};
        std::function<void(const lease::Policy&)> on_policy = {};  ///< was agreed on, through any server
        /// Access control was changed, through any server. It is in force before the one that asked for it is answered.
        /// state() has it from begin() on.
        std::function<void(const auth::AuthState&)> on_auth = {};
        std::function<void(const Error&)> on_failure = {};  ///< that no caller waits for
        Code unavailable = Code::unavailable;               ///< the code of this error
        std::uint64_t first_id = 1;                         ///< of commands; unique among all servers and incarnations
    };
    explicit Agreement(Parts parts);

    /// For the log, which has applied all that it found when it is passed to begin().
    StateMachine& machine() { return *this; }
    /// REQUIRES: called before everything below. Errors: `members_differ` if the log belongs to other members;
    /// `state_too_new`, `state_corrupt`.
    Result<void> begin(Log& log);

    /// For the start of the authority, which is notified of all changes after use(). REQUIRES: stop() is called before
    /// it is destroyed.
    lease::Policy policy() const;
    std::vector<store::SavedAgent> agents() const;
    void use(authority::Authority& authority) { authority_ = &authority; }

    /// Sets the time, of the log too. Call it before every other call and whenever next_due() is reached, after setting
    /// the authority's time.
    void advance(Instant now);
    Instant next_due() const;

    void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) override;
    void submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) override;
    store::AuditPage audit(std::uint64_t after, std::size_t limit) const override;

    /// Answers everyone who waits, and stops the log. From now on every change fails.
    void stop();

    /// The state after the entries applied so far.
    const ClusterState& state() const { return state_; }

 private:
    using Outcome = Result<std::optional<CommandResult>>;  ///< nullopt if it is only known to be in a snapshot
    struct UnderWay {
        Callback<Outcome> done;
        std::optional<CommandResult> result{};
    };
    using Audit = std::optional<store::AuditEntry>;

    void apply(consensus::LogIndex index, const std::string& entry) override { state_.apply(index, entry); }
    std::string snapshot() const override { return state_.snapshot(); }
    Result<void> install(const std::string& snapshot) override;
    void applied() override { deliver(); }

    Result<void> check() const;
    const lease::Policy& agreed_policy() const;
    bool is_founded() const { return !parts_.founding || !state_.members().empty(); }
    void found_if_needed();
    void deliver();
    void deliver_agents();
    void on_command_done(std::uint64_t id, const CommandResult& result);
    void on_stored(const Result<void>& stored);
    void report(const Error& error) const;

    void append(std::uint64_t id, std::string entry, Callback<Outcome> done);
    void send(const Audit& audit, const ClusterCommand& command, Callback<Outcome> done);
    Result<void> check_open() const;
    Error unavailable(std::string why) const { return {parts_.unavailable, std::move(why)}; }
    bool is_audited(const store::AuditEntry& audit) const;

    // One for each kind of change: its way into the log, and what its caller is answered.
    void save(lease::Policy& policy, Audit audit, Callback<Result<void>> done);
    void save(const store::SavedAgent& agent, const Audit& audit, Callback<Result<void>> done);
    void save(const store::ForgottenAgent& agent, const Audit& audit, Callback<Result<void>> done);
    void save(auth::AuthChange& change, Audit audit, Callback<Result<void>> done);
    void save(const store::OnlyAudited& nothing, const Audit& audit, Callback<Result<void>> done);
    void send_policy(std::uint64_t version, const lease::Policy& policy, Audit audit, Callback<Result<void>> done);
    void send_auth(auth::AuthChange change, Audit audit, int attempts, Callback<Result<void>> done);

    Parts parts_;
    std::uint64_t next_id_;
    std::map<std::uint64_t, UnderWay> under_way_;                     // by id
    std::vector<std::pair<store::SavedAgent, bool>> agents_changed_;  // true if forgotten
    bool policy_changed_ = false;
    bool auth_changed_ = false;
    bool replaced_ = false;
    bool delivering_ = false;
    bool stopped_ = false;
    std::uint64_t shown_version_ = 0;  // of the policy that was passed to the authority last
    std::size_t founding_under_way_ = 0;
    std::optional<Error> not_installed_;  // why a snapshot of the log was not
    ClusterState state_;
    Log* log_ = nullptr;
    authority::Authority* authority_ = nullptr;
    std::optional<TtlInForce> ttl_;
    std::vector<Callback<Result<void>>> until_complete_;  // the policy in force
    Alive alive_;
};

}  // namespace holdfast::agreed
