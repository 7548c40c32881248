#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agreed/cluster_state.h"
#include "agreed/consensus_log.h"
#include "lease/policy.h"
#include "sim/true_time.h"

namespace holdfast::sim {

/// Checks the replicated log on all nodes at once:
///
/// - L1: all nodes apply the same entry at one index, each in order: the log does not fork. A leader has every entry
///   that was applied anywhere before it began to lead: no acknowledged entry is lost. No two nodes lead in one term.
/// - L3: the entries up to an index lead to the same policy and agents on every node, with or without a snapshot, and a
///   node enforces the bans that it has applied.
/// - An acknowledged change of an admin is in the log, and in the audit exactly once.
class LogChecker {
 public:
    using Fail = std::function<void(const std::string& rule, const std::string& what)>;
    LogChecker(unsigned nodes, Fail fail) : fail_(std::move(fail)), nodes_(nodes) {}

    /// An incarnation of a node begins.
    void starts(unsigned node) { nodes_[node] = {}; }
    void applied(unsigned node, consensus::LogIndex index, const std::string& entry);
    /// The state of a node at the end of a turn.
    void stands(unsigned node, const agreed::ConsensusLog::Status& status, const agreed::ClusterState& agreed,
                const lease::Policy& in_force);

    /// An admin's change was acknowledged. Only its audit entry has this mark.
    void acknowledged(const std::string& mark);
    /// Checks the marks at the end, on any node that has the whole log.
    void check_audit(const agreed::ClusterState& agreed);

    consensus::LogIndex highest() const { return entries_.empty() ? 0 : entries_.rbegin()->first; }

    struct Counts {
        std::uint64_t entries = 0;    ///< of the log that any node applied
        std::uint64_t leaders = 0;    ///< terms with a leader
        std::uint64_t installs = 0;   ///< snapshots sent to nodes that had fallen behind
        std::uint64_t snapshots = 0;  ///< found at a start
        std::uint64_t acknowledged = 0;
    };
    const Counts& counts() const { return counts_; }

 private:
    struct Node {
        consensus::LogIndex last = 0;     ///< applied in this incarnation
        consensus::LogIndex stands_at{};  ///< as last seen
        consensus::LogBallot ballot;      ///< under which it was, or was becoming, the leader
        consensus::LogIndex owes = 0;     ///< it must have committed this before it leads
        bool started = false;             ///< and seen since
        bool leads = false;
    };

    void check_leader(unsigned node, const agreed::ConsensusLog::Status& status);
    void check_state(unsigned node, consensus::LogIndex at, const agreed::ClusterState& agreed);

    Fail fail_;
    std::vector<Node> nodes_;
    std::map<consensus::LogIndex, std::string> entries_;   // as first applied by any node
    std::map<consensus::LogIndex, std::uint64_t> states_;  // the resulting state, likewise
    std::map<lease::Token, unsigned> led_;                 // by term
    std::set<std::string> marks_;
    Counts counts_;
};

}  // namespace holdfast::sim
