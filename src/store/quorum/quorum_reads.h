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

namespace holdfast::store::quorum {

/// The replies of a majority of the acceptors, concatenated: a resource may appear several times, with different
/// records.
struct ReadResult {
    std::vector<ReadReply::Entry> entries;
    bool cut = false;  ///< more exist than were asked for
};

/// Reads records from a majority of the acceptors (Q1). A read changes nothing, so it may be issued at any time. Each
/// record that it returns was accepted by some acceptor, though perhaps not by a majority.
class QuorumReads {
 public:
    QuorumReads(const QuorumConfig& config, Acceptor& acceptor, PeerTransport& peers);

    /// Asks all nodes. Replies when a majority has answered, perhaps before this returns, or with the error
    /// `unavailable` after the duration of an attempt.
    using Reply = Callback<Result<ReadResult>>;
    void ask(ReadRequest request, Instant now, Reply reply);

    void on_reply(NodeIndex from, const ReadReply& answer);

    /// Answers all current and later reads with the error `unavailable`.
    void stop();
    bool stopped() const { return stopped_; }

    void advance(Instant now);
    Instant next_due() const;

 private:
    struct OpenRead {
        ReadResult result;
        NodeSet answered;
        Reply reply;
    };
    struct Due {
        Instant at;
        std::uint64_t number;
    };

    const QuorumConfig& config_;
    Acceptor& acceptor_;
    PeerTransport& peers_;
    std::uint64_t last_number_ = 0;
    bool stopped_ = false;
    std::unordered_map<std::uint64_t, OpenRead> open_;
    std::deque<Due> due_;  // in order, since all have the same timeout; answered ones are skipped
};

}  // namespace holdfast::store::quorum
