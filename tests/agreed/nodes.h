#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "agreed/agreement.h"
#include "agreed/consensus_log.h"
#include "authority/desk.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::agreed {

/// The nodes of a cluster, each with an authority on its share of a quorum and the state that they agree on, as servers
/// would run them, under a time that the test moves. Disks are real files; each step waits for them.
class Nodes {
 public:
    struct Node {
        authority::TestLocalDurable local;
        std::unique_ptr<Agreement> agreement;
        std::unique_ptr<ConsensusLog> log;
        std::unique_ptr<authority::Authority> authority;
        std::unique_ptr<store::quorum::QuorumStore> store;
        store::quorum::BootNumber boot = 1;
    };

    explicit Nodes(std::size_t count, lease::Policy first_policy = {});
    ~Nodes();

    authority::Authority& at(std::size_t node) { return *nodes_[node]->authority; }
    Agreement& agreement(std::size_t node) { return *nodes_[node]->agreement; }
    ConsensusLog& log(std::size_t node) { return *nodes_[node]->log; }
    authority::TestLocalDurable& local(std::size_t node) { return nodes_[node]->local; }

    /// Milliseconds go by, with messages delivered in each.
    void pass(Duration time);
    /// Until it is true, for at most a minute of the nodes' time; says whether it came true.
    bool until(const std::function<bool()>& happened);
    void cut_off(std::size_t node, bool is_cut = true);
    void restart(std::size_t node);

    /// The one that leads the log, once all that are not cut off agree on it.
    std::size_t leader();

    // Each passes time until there is an answer.
    authority::Answer<lease::Policy> change(std::size_t node, const authority::PolicyChange& change);
    bool ban(std::size_t node, const std::string& holder);
    authority::Answer<authority::AgentAnswer> put_agent(std::size_t node, authority::AgentRequest request);
    authority::AcquireAnswer acquire(std::size_t node, authority::AcquireRequest request);

    std::vector<Error> failures;

 private:
    void start(std::size_t node);
    void introduce(std::size_t node);
    void turn();
    bool deliver();
    bool run_posted();
    bool carries(store::quorum::NodeIndex from, store::quorum::NodeIndex to) const {
        return !cut_.contains(from) && !cut_.contains(to);
    }

    struct LogEnvelope {
        store::quorum::NodeIndex from, to;
        consensus::LogMessage message;
    };

    lease::Policy first_policy_;
    std::filesystem::path directory_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::deque<store::quorum::Envelope> flying_;
    std::deque<LogEnvelope> log_flying_;
    std::set<store::quorum::NodeIndex> cut_;
    std::mutex mutex_;
    std::deque<Callback<>> posted_;
    Instant now_{1000s};
};

/// The code of a refusal; nothing if it is none.
template <class AnswerType>
std::optional<Code> refusal_of(const AnswerType& answer) {
    const auto* refused = std::get_if<authority::Refused>(&answer);
    return refused == nullptr ? std::nullopt : std::optional(refused->code);
}

}  // namespace holdfast::agreed
