#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "doors/peer/refusal.h"
#include "store/quorum/peer_lives.h"

namespace holdfast::peer {

/// One life of a member.
struct Life {
    core::NodeIndex node = 0;
    core::BootNumber boot = 0;

    bool operator==(const Life&) const = default;
};

/// What a node says of its state directory when it introduces itself.
struct Directories {
    std::uint64_t own = 0;                ///< its number, chosen at random when it was made
    std::vector<std::uint64_t> founders;  ///< of all members, in their order; empty: not known yet
    std::uint64_t incarnation = 0;        ///< of the life that introduces itself (core::LifeMark)
    std::vector<core::LifeMark> lives;    ///< by member: the latest that it has written down; empty: it writes none

    bool operator==(const Directories&) const = default;
};

/// Knows which directories belong to the cluster, and which copies of them (server/cluster_peers.h).
class Founders {
 public:
    virtual ~Founders() = default;

    virtual Directories own() const = 0;
    virtual std::optional<Refusal> refuses(Life peer, const Directories& theirs) const = 0;
    /// It is connected.
    virtual void met(Life peer, const Directories& theirs) = 0;
    /// A refusal says that this node runs on an earlier copy of its directory.
    virtual void found_old() = 0;
};

}  // namespace holdfast::peer
