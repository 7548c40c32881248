#pragma once

#include <optional>
#include <vector>

#include "doors/peer/handshake.h"

namespace holdfast::server {

/// How a cluster begins, and which state directories belong to it from then on.
///
/// A node that lost its directory has forgotten its promises (Q10), the tokens it has seen (Q11) and its share of the
/// log (L1). It cannot detect this: an empty directory looks like a first start. So every directory has a number of its
/// own, and each node durably writes the numbers of all members before it takes part in anything. A node writes them
/// once it has met every other member and none of them belongs to a cluster founded without it, or once it has met one
/// member whose cluster was founded with it. From then on it talks only to those directories.
class ClusterFounding {
 public:
    struct Parts {
        store::quorum::NodeIndex self = 0;
        std::size_t members = 1;
        doors::peer::Directories found;  ///< as read from the state file
    };
    explicit ClusterFounding(Parts parts);

    store::quorum::NodeIndex self() const { return self_; }
    doors::peer::Directories own() const;
    bool admits(store::quorum::NodeIndex peer, const doors::peer::Directories& theirs) const;
    /// The peer is connected.
    void met(store::quorum::NodeIndex peer, const doors::peer::Directories& theirs);

    /// The directories to make durable. Empty if some are still unknown, or if they are durable already.
    std::optional<std::vector<std::uint64_t>> to_write() const;
    void written() { founded_ = true; }
    /// Whether this node may take part in votes.
    bool founded() const { return founded_; }

 private:
    store::quorum::NodeIndex self_;
    std::uint64_t own_;
    std::vector<std::uint64_t> known_;  // by member; zero: not met yet
    bool complete_ = false;
    bool founded_ = false;
};

}  // namespace holdfast::server
