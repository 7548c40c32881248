#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agreed/cluster_state.h"
#include "consensus/log_messages.h"
#include "store/durable.h"

namespace holdfast::authority {
class Authority;
}

namespace holdfast::agreed {

/// The first entries of a log: the initial policy, and last the members. A log without members is not founded: founding
/// is then repeated, with the same effect.
struct Founding {
    const lease::Policy& policy;
    const std::vector<std::string>& members;
};
struct FoundingEntry {
    std::uint64_t id = 0;
    std::string value;
};
/// The members as recorded in the log: a single node may change its address.
std::vector<std::string> recorded_members(const std::vector<std::string>& members);

std::vector<FoundingEntry> founding_entries(const Founding& founding, std::uint64_t policy_version,
                                            const std::function<std::uint64_t()>& next_id);

/// Founds the log of a single node before any change can be made, in one write: whole or not at all. `first_id` is the
/// first id of its commands.
consensus::LogWrite founding_alone(const Founding& founding, std::uint64_t first_id);

/// The state that every node of a cluster agrees on, through the replicated log (L3): policy with its bans (R7), agents
/// (G5) and the audit of admin actions. A single node is a cluster of one: it leads from the start, and an entry on its
/// own disk is committed.
///
/// A change is answered once it is committed and has been passed to this node's authority. Error `unavailable`: there
/// is no leader or no majority; the change is not in force, though it may still come into force. Error `conflict`: the
/// policy has changed meanwhile, and the authority has the new one; the change must be made again from that. Changes
/// made through other nodes reach the authority as they are committed.
///
/// Tokens are local to each node and go to the local state. So does the longest time that a lease may last after an
/// unclean stop (S1): a longer maximum TTL is in force here only once the local state has stored it; everything else at
/// once.
///
/// The leader is the holder of the lease `leader:log`, for which each node is a candidate (L1).
///
/// Pure like the log itself: time, messages and the disk are passed in. A server keeps it in a file
/// (replicated_file.h).
class ReplicatedState final : public store::Durable {
 public:
    struct Parts {
        store::quorum::NodeIndex node = 0;
        std::vector<std::string> members;  ///< each `id=host:port`, in the same order on all nodes; may be only one
        store::LocalDurable& local;
        Duration local_ttl_max = lease::Policy{}.ttl_max;    ///< as stored in the local state, so in force already
        lease::Policy first_policy = {};                     ///< founds an empty log
        std::unique_ptr<consensus::LogDisk> disk = nullptr;  ///< of the log
        consensus::LogFound found = {};  ///< its contents; for a single node, those made by founding_alone()
        std::function<void(store::quorum::NodeIndex to, consensus::LogMessage message)> send =
            {};  ///< must not call back
        std::function<void(const Error&)> on_failure = {};
        std::function<void()> on_written = {};  ///< the log's disk has completed a write
        std::function<void(consensus::LogIndex index, const std::string& entry)> on_applied =
            {};  ///< must not call back
        std::size_t entries_before_snapshot = 1000;
        Duration leader_ttl = 10s;  ///< of the lease `leader:log`; at most the longest TTL of this cluster
        std::uint64_t seed = 0;     ///< different in every incarnation
    };
    /// Errors: `members_differ` if the log belongs to other members; `state_too_new`, `state_corrupt`.
    static Result<std::unique_ptr<ReplicatedState>> make(Parts parts);
    ~ReplicatedState() override;

    /// For the start of the authority. After use() the authority is notified of all changes, and this node is a
    /// candidate for leadership from the first advance() on. REQUIRES: stop() is called before the authority is
    /// destroyed.
    lease::Policy policy() const;
    std::vector<store::SavedAgent> agents() const;
    void use(authority::Authority& authority);

    /// Sets the time. Call it before every other call and whenever next_due() is reached, after setting the authority's
    /// time.
    void advance(Instant now);
    Instant next_due() const;
    void receive(store::quorum::NodeIndex from, const consensus::LogMessage& message);
    /// A peer has become reachable or unreachable.
    void on_peer(store::quorum::NodeIndex node, bool reachable);

    void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) override;
    void submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) override;
    store::AuditPage audit(std::uint64_t after, std::size_t limit) const override;

    struct Status {
        consensus::LogIndex committed = 0;
        consensus::LogIndex applied = 0;
        bool leads = false;
        std::optional<store::quorum::NodeIndex> leader;  ///< this node itself, or the last known leader
        consensus::LogBallot ballot;                     ///< under which it leads or follows
    };
    Status status() const;
    /// The state after the entries up to status().applied.
    const ClusterState& agreed() const;

    /// Waits until all requested writes have finished and their answers are posted.
    void drain();
    /// Releases the leader's lease, so that another node may lead at once, and waits for writes under way. From now on
    /// every change fails.
    void stop();

 private:
    struct Impl;
    explicit ReplicatedState(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::agreed
