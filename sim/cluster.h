#pragma once

#include <memory>
#include <vector>

#include "sim/node.h"

namespace holdfast::sim {

/// The nodes and their faults.
class Cluster {
 public:
    struct Parts {
        const Scenario& scenario;
        EventQueue& events;
        Network& network;
        Trace& trace;
        LogChecker& log_checker;
    };
    explicit Cluster(Parts parts);

    Node& node(unsigned index) { return *nodes_[index]; }
    unsigned size() const { return static_cast<unsigned>(nodes_.size()); }

    /// Repairs everything and starts the nodes that are down.
    void calm_down();
    /// As Node::close().
    void close();

    struct Counts {
        std::uint64_t restarts = 0;      ///< after unclean stops
        std::uint64_t clean = 0;         ///< clean stops and the starts after them
        std::uint64_t partitions = 0;    ///< cuts of any kind
        std::uint64_t messages = 0;      ///< between nodes
        std::uint64_t log_messages = 0;  ///< of these, messages of the log
        std::uint64_t copies = 0;        ///< earlier copies of directories that were put back
        std::uint64_t refused = 0;       ///< introductions of nodes that run on a copy
        std::uint64_t past_restart = 0;  ///< messages that arrived after a restart of their sender or receiver
    };
    const Counts& counts() const { return counts_; }

 private:
    void begin(const Fault& fault);
    void put_back(unsigned node);
    void restart_later(unsigned node, Duration down);
    void cut_between(const std::vector<std::pair<unsigned, unsigned>>& links, Duration lasts);
    void carry(store::quorum::Envelope envelope);
    void carry_log(unsigned from, unsigned to, consensus::LogMessage message);
    void started(unsigned node);
    void introduce(unsigned to, unsigned whom);
    void gone(unsigned node);

    Parts parts_;
    Dice dice_;
    std::vector<std::unique_ptr<Node>> nodes_;
    bool calm_ = false;
    Counts counts_;
};

}  // namespace holdfast::sim
