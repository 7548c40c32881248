#pragma once

#include "agreed/agreement.h"
#include "agreed/consensus_log.h"
#include "sim/node.h"

namespace holdfast::sim {

/// One incarnation of a node: the shipped code, connected as the server connects it.
struct Node::Life {
 public:
    struct Start {
        store::quorum::QuorumConfig config;
        const OnDisk& found;
        Instant now;
        Instant silent_until;
        std::int64_t wall_ms = 0;
        std::uint64_t seed = 0;
        Disk& disk;
        InLife in_life;
        std::function<void(store::quorum::Envelope)> send;
        std::function<void(store::quorum::NodeIndex to, consensus::LogMessage message)> send_log;
        std::function<void(consensus::LogIndex index, const std::string& entry)> on_applied;
    };
    explicit Life(Start start);

    authority::Authority& authority() { return authority_; }
    store::quorum::QuorumStore& store() { return store_; }
    agreed::Agreement& agreement() { return agreement_; }
    agreed::ConsensusLog& log() { return log_; }

    void advance(Instant now);
    Instant next_due() const {
        return std::min({store_.next_due(), authority_.next_deadline(), agreement_.next_due()});
    }
    /// Call this before the acceptor's share is saved: refuses changes, and lets another node lead the log.
    void stop();

    struct HandOver {
        SavedAcceptor saved;
        std::uint64_t counter = 0;
    };
    HandOver hand_over();

    /// Drops all requests under way without answers.
    void bury();

 private:
    agreed::Agreement::Parts agreement_parts(const Start& start);
    agreed::ConsensusLog::Parts log_parts(Start& start);

    /// The node's own durable state, on the simulated disk.
    class OnThisDisk final : public store::LocalDurable {
     public:
        OnThisDisk(Disk& disk, InLife in_life) : disk_(disk), in_life_(std::move(in_life)) {}
        void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) override;
        void save_ttl_max(Duration ttl_max, Callback<Result<void>> done) override;

     private:
        void write(Disk::Change change, Callback<Result<void>> done);

        Disk& disk_;
        InLife in_life_;
    };

    /// The node's part of the replicated log, on the same disk.
    class LogOnThisDisk final : public consensus::LogDisk {
     public:
        LogOnThisDisk(Disk& disk, InLife in_life) : disk_(disk), in_life_(std::move(in_life)) {}
        void write(consensus::LogWrite write, Callback<Result<void>> done) override;

     private:
        Disk& disk_;
        InLife in_life_;
    };

    Instant now_;
    bool buried_ = false;
    OnThisDisk durable_;
    agreed::Agreement agreement_;
    agreed::ConsensusLog log_;
    authority::Authority authority_;
    store::quorum::QuorumStore store_;
};

}  // namespace holdfast::sim
