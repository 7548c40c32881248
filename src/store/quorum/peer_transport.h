#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "store/quorum/messages.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::core {

/// Which lives of the other nodes are known, and what goes to and comes from which.
class PeerTransport {
 public:
    PeerTransport(const QuorumConfig& config, std::function<void(Envelope)> send);

    void set_time(Instant now);
    void set_peer(NodeIndex peer, std::optional<BootNumber> boot);

    /// A peer takes part in no decision before, as it says (Q10).
    void set_silence(NodeIndex peer, Instant until);

    /// Whether so many others may vote as a majority needs: those that are reachable and not silent, or have been out
    /// of reach for so short a time that they may be back in a moment.
    bool may_decide(bool this_one_votes, Instant now) const;
    /// When a majority of those that are reachable votes: now, at the end of a silence, or nobody knows.
    std::optional<Duration> decides_in(Duration own_silence, Instant now) const;
    bool votes(NodeIndex peer, Instant now) const;

    /// True if whoever made this request has been out of reach for a while, or is not that life any more.
    bool is_gone(RequestOrigin origin, Instant now) const;

    /// True for what is meant for this life of this node, and comes from the life of another that is its last.
    bool admits(const Envelope& envelope);

    /// To every other node that can be reached.
    void to_all(const QuorumMessage& message);
    void to(NodeIndex peer, QuorumMessage message);
    /// To the life that asked.
    void answer(const Envelope& asked, QuorumMessage message);

 private:
    struct Peer {
        std::optional<BootNumber> reachable;
        BootNumber last = 0;
        Instant missed_since = Instant::max();  ///< if it is not reachable
        Instant silent_until{};
    };

    const QuorumConfig& config_;
    std::function<void(Envelope)> send_;
    std::vector<Peer> peers_;
    std::optional<Instant> now_;
};

}  // namespace holdfast::core
