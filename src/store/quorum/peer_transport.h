#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "store/quorum/messages.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::store::quorum {

/// Tracks the known incarnations of the other nodes, and addresses and filters messages by incarnation.
class PeerTransport {
 public:
    PeerTransport(const QuorumConfig& config, std::function<void(Envelope)> send);

    void set_time(Instant now);
    void set_peer(NodeIndex peer, std::optional<BootNumber> boot);

    /// The peer has announced that it does not vote before `until` (Q10).
    void set_silence(NodeIndex peer, Instant until);

    /// True if a majority may be able to vote. Counts nodes that are reachable and not silent, and nodes that were lost
    /// so recently that they may be back in a moment.
    bool may_decide(bool this_one_votes, Instant now) const;
    /// Time until a majority is reachable and votes: zero, until the end of a silence, or nullopt if too few are
    /// reachable.
    std::optional<Duration> decides_in(Duration own_silence, Instant now) const;
    bool votes(NodeIndex peer, Instant now) const;

    /// True if the node that made this request has been unreachable for a while, or has restarted since.
    bool is_gone(RequestOrigin origin, Instant now) const;

    /// True if the message is addressed to this incarnation of this node and comes from the latest incarnation of its
    /// sender.
    bool admits(const Envelope& envelope);

    /// Sends to every other reachable node.
    void to_all(const QuorumMessage& message);
    void to(NodeIndex peer, QuorumMessage message);
    /// Sends to the incarnation that asked.
    void answer(const Envelope& asked, QuorumMessage message);

 private:
    struct Peer {
        std::optional<BootNumber> reachable;
        BootNumber last = 0;
        Instant missed_since = Instant::max();  ///< if not reachable
        Instant silent_until{};
    };

    const QuorumConfig& config_;
    std::function<void(Envelope)> send_;
    std::vector<Peer> peers_;
    std::optional<Instant> now_;
};

}  // namespace holdfast::store::quorum
