#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agreed/cluster_state.h"
#include "consensus/log_messages.h"
#include "store/durable.h"

namespace holdfast::core {
class Authority;
class ClusterState;
}  // namespace holdfast::core

namespace holdfast {

/// The first entries of a log: the policy to begin with, and last the members. A log without members is not founded:
/// what is there of it is founded once more, to the same effect.
struct Founding {
    const core::Policy& policy;
    const std::vector<std::string>& members;
};
struct FoundingEntry {
    std::uint64_t id = 0;
    std::string value;
};
/// The members as they are written down: a single node may change its address.
std::vector<std::string> recorded_members(const std::vector<std::string>& members);

std::vector<FoundingEntry> founding_entries(const Founding& founding, std::uint64_t policy_version,
                                            const std::function<std::uint64_t()>& next_id);

/// A single node's log is founded before anybody can change anything, whole or not at all: all of it in one write.
/// `first_id` is of its commands.
core::LogWrite founding_alone(const Founding& founding, std::uint64_t first_id);

/// What every node of a cluster must agree on, through the replicated log (L3): policy with its bans (R7), agents (G5)
/// and the audit of admin actions. A single node is a cluster of one: it leads from the start, and what its own disk
/// has is committed.
///
/// A change is answered once it is committed and has been told to this node's authority; `unavailable` if nobody leads
/// or no majority is there: it is not in force then, though it may come to be. Error `conflict`: the policy has changed
/// meanwhile, and the authority has been told; the change is to be made anew from that. Changes made through other
/// nodes reach the authority as they are committed.
///
/// Tokens are each node's own matter and go to the local state. So is how long a lease may live after an unclean stop
/// (S1): a longer maximum TTL is in force here only once the local state has it; everything else at once.
///
/// Who leads is decided by the lease `leader:log`, for which each node stands (L1).
///
/// Pure like the log itself: time, messages and the disk are given. A server has it in a file (replicated_file.h).
class ReplicatedState final : public core::Durable {
 public:
    struct Parts {
        core::NodeIndex node = 0;
        std::vector<std::string> members;  ///< each `id=host:port`, in the same order on all nodes; one: a single node
        core::LocalDurable& local;
        Duration local_ttl_max = core::Policy{}.ttl_max;  ///< that the local state has, so it is in force already
        core::Policy first_policy = {};                   ///< founds a log that is empty
        std::unique_ptr<core::LogDisk> disk = nullptr;    ///< of the log
        core::LogFound found = {};                        ///< on it; of a single node: what founding_alone() makes
        std::function<void(core::NodeIndex to, core::LogMessage message)> send = {};  ///< must not call back
        std::function<void(const Error&)> on_failure = {};
        std::function<void()> on_written = {};  ///< the disk of the log took something
        std::function<void(core::LogIndex index, const std::string& entry)> on_applied = {};  ///< must not call back
        std::size_t entries_before_snapshot = 1000;
        Duration leader_ttl = 10s;  ///< of the lease `leader:log`; no longer than any lease of this cluster may be
        std::uint64_t seed = 0;     ///< different in every life
    };
    /// Errors: `members_differ` if the log is that of others than these; `state_too_new`, `state_corrupt`.
    static Result<std::unique_ptr<ReplicatedState>> make(Parts parts);
    ~ReplicatedState() override;

    /// For the start of the authority, which is then to be told of all that changes. Stands for leadership from the
    /// first advance() on. REQUIRES: stop() is called before the authority goes.
    core::Policy policy() const;
    std::vector<core::SavedAgent> agents() const;
    void use(core::Authority& authority);

    /// The time, before every call and whenever next_due() is reached. The authority's time comes first.
    void advance(Instant now);
    Instant next_due() const;
    void receive(core::NodeIndex from, const core::LogMessage& message);
    /// A peer can be reached from now on, or no more.
    void on_peer(core::NodeIndex node, bool reachable);

    void reserve_tokens(core::Token ceiling, Callback<Result<void>> done) override;
    void save_policy(const core::Policy& policy, Callback<Result<void>> done) override;
    void save_agent(const core::SavedAgent& agent, Callback<Result<void>> done) override;
    void forget_agent(std::string_view id, Callback<Result<void>> done) override;
    void save_policy_by(const core::AuditEntry& audit, const core::Policy& policy,
                        Callback<Result<void>> done) override;
    void forget_agent_by(const core::AuditEntry& audit, std::string_view id, Callback<Result<void>> done) override;
    void note(const core::AuditEntry& audit) override;
    core::AuditPage audit(std::uint64_t after, std::size_t limit) const override;

    struct Status {
        core::LogIndex committed = 0;
        core::LogIndex applied = 0;
        bool leads = false;
        std::optional<core::NodeIndex> leader;  ///< this node itself, or as it was last heard
        core::LogBallot ballot;                 ///< that it leads or follows under
    };
    Status status() const;
    /// As the entries up to status().applied have made it.
    const core::ClusterState& agreed() const;

    /// Waits until what was asked of the disk is written, and its answer is posted.
    void drain();
    /// Gives the lease back, so that another may lead at once; waits for what is on its way to the disk. From now on
    /// every change fails.
    void stop();

 private:
    struct Impl;
    explicit ReplicatedState(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
