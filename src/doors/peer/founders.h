#pragma once

#include <cstdint>
#include <vector>

#include "store/quorum/ballot.h"

namespace holdfast::peer {

/// What a node says of its state directory when it introduces itself.
struct Directories {
    std::uint64_t own = 0;                ///< its number, chosen at random when it was made
    std::vector<std::uint64_t> founders;  ///< of all members, in their order; empty: not known yet

    bool operator==(const Directories&) const = default;
};

/// Knows which directories belong to the cluster (server/cluster_founding.h).
class Founders {
 public:
    virtual ~Founders() = default;

    virtual Directories own() const = 0;
    virtual bool admits(core::NodeIndex peer, const Directories& theirs) const = 0;
    /// It is connected.
    virtual void met(core::NodeIndex peer, const Directories& theirs) = 0;
};

}  // namespace holdfast::peer
