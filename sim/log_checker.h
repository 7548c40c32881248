#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agreed/cluster_state.h"
#include "agreed/replicated_state.h"
#include "lease/policy.h"
#include "sim/true_time.h"

namespace holdfast::sim {

/// Watches the replicated log on all nodes at once, which nobody in the world can, and says when that cannot be right:
///
/// - L1: what one node applies at a place all apply there, each in order: the log does not fork. Whoever leads has all
/// that was applied anywhere before it began to: nothing that was acknowledged is
///   forgotten. No two lead in one term.
/// - L3: what the entries up to a place have made of policy and agents is the same on every node, snapshot or not, and
///   the bans that a node enforces are those of what it has applied.
/// - What an admin was told has been done is in the log, and in the audit once.
class LogChecker {
 public:
    using Fail = std::function<void(const std::string& rule, const std::string& what)>;
    LogChecker(unsigned nodes, Fail fail) : fail_(std::move(fail)), nodes_(nodes) {}

    /// A life of a node begins.
    void starts(unsigned node) { nodes_[node] = {}; }
    void applied(unsigned node, LogIndex index, const std::string& entry);
    /// How a node stands at the end of a turn.
    void stands(unsigned node, const ReplicatedState::Status& status, const ClusterState& agreed,
                const Policy& in_force);

    /// An admin was told that it is done. The mark is in the audit of that, and of nothing else.
    void acknowledged(const std::string& mark);
    /// At the end, on any node that has everything.
    void check_audit(const ClusterState& agreed);

    LogIndex highest() const { return entries_.empty() ? 0 : entries_.rbegin()->first; }

    struct Counts {
        std::uint64_t entries = 0;    ///< in the log, that somebody applied
        std::uint64_t leaders = 0;    ///< terms in which somebody led
        std::uint64_t installs = 0;   ///< of snapshots, on nodes that lacked what was in them
        std::uint64_t snapshots = 0;  ///< that a start began with
        std::uint64_t acknowledged = 0;
    };
    const Counts& counts() const { return counts_; }

 private:
    struct Node {
        LogIndex last = 0;     ///< that it applied in this life
        LogIndex stands_at{};  ///< as it was seen last
        LogBallot ballot;      ///< under which it was seen to be, or to become, the leader
        LogIndex owes = 0;     ///< it must have committed this before it leads
        bool started = false;  ///< and seen since
        bool leads = false;
    };

    void check_leader(unsigned node, const ReplicatedState::Status& status);
    void check_state(unsigned node, LogIndex at, const ClusterState& agreed);

    Fail fail_;
    std::vector<Node> nodes_;
    std::map<LogIndex, std::string> entries_;   // as whoever applied it first had it
    std::map<LogIndex, std::uint64_t> states_;  // what was made of it, likewise
    std::map<Token, unsigned> led_;             // by term
    std::set<std::string> marks_;
    Counts counts_;
};

}  // namespace holdfast::sim
