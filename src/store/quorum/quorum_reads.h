#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "store/quorum/acceptor.h"
#include "store/quorum/peer_transport.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::core {

/// What a majority of the acceptors showed, one after the other: a resource may be there several times, and not each
/// time the same.
struct Shown {
    std::vector<Seen::Entry> entries;
    bool cut = false;  ///< there is more than was asked for
};

/// QuorumReads at what a majority of the acceptors hold (Q1). A look changes nothing, so it may be asked at any time;
/// what it shows was accepted by somebody, if not by a majority.
class QuorumReads {
 public:
    QuorumReads(const QuorumConfig& config, Acceptor& acceptor, PeerTransport& mail);

    /// Asks all; the reply comes when a majority has answered, perhaps before this returns, or with the error
    /// `unavailable` after the time of an attempt.
    using Reply = Callback<Result<Shown>>;
    void ask(Look look, Instant now, Reply reply);

    void on_seen(NodeIndex from, const Seen& seen);

    /// Whatever is asked now or later is answered with the error.
    void stop();
    bool stopped() const { return stopped_; }

    void advance(Instant now);
    Instant next_due() const;

 private:
    struct Looking {
        Shown sight;
        NodeSet answered;
        Reply reply;
    };
    struct Due {
        Instant at;
        std::uint64_t number;
    };

    const QuorumConfig& config_;
    Acceptor& acceptor_;
    PeerTransport& mail_;
    std::uint64_t last_number_ = 0;
    bool stopped_ = false;
    std::unordered_map<std::uint64_t, Looking> looking_;
    std::deque<Due> due_;  // in order, for all take the same time; those that were answered are skipped
};

}  // namespace holdfast::core
