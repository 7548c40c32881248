#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "doors/peer/refusal.h"
#include "store/quorum/peer_lives.h"

namespace holdfast::peer {

/// One incarnation of a member, named by its boot number.
struct Life {
    core::NodeIndex node = 0;
    core::BootNumber boot = 0;

    bool operator==(const Life&) const = default;
};

/// What a node reports about state directories when it introduces itself.
struct Directories {
    std::uint64_t own = 0;                ///< the number of its directory, chosen at random when that was created
    std::vector<std::uint64_t> founders;  ///< the directory numbers of all members, by index; empty: not known yet
    std::uint64_t incarnation = 0;        ///< of the node that introduces itself (core::LifeMark)
    std::vector<core::LifeMark> lives;    ///< by member: the latest incarnation it has recorded; empty: it records none

    bool operator==(const Directories&) const = default;
};

/// Knows which directories, and which copies of them, belong to the cluster (server/cluster_peers.h).
class Founders {
 public:
    virtual ~Founders() = default;

    virtual Directories own() const = 0;
    virtual std::optional<Refusal> refuses(Life peer, const Directories& theirs) const = 0;
    /// The peer is connected.
    virtual void met(Life peer, const Directories& theirs) = 0;
    /// A peer's refusal says that this node runs on an earlier copy of its directory.
    virtual void found_old() = 0;
};

}  // namespace holdfast::peer
