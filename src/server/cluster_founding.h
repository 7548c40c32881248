#pragma once

#include <optional>
#include <vector>

#include "doors/peer/founders.h"

namespace holdfast {

/// How a cluster begins, and which state directories belong to it from then on.
///
/// A node whose directory was lost has forgotten its promises (Q10), the tokens it has seen (Q11) and its share of the
/// log (L1), and cannot know it: to an empty directory everything is new. So every directory has a number of its own,
/// and each node writes the numbers of all members down before it takes part in anything. It does so once it has met
/// all the others, with none of them in a cluster that was founded without it; or one of them that was founded with it.
/// From then on it talks to those directories only.
class ClusterFounding {
 public:
    struct Parts {
        core::NodeIndex self = 0;
        std::size_t members = 1;
        peer::Directories found;  ///< in the state
    };
    explicit ClusterFounding(Parts parts);

    core::NodeIndex self() const { return self_; }
    peer::Directories own() const;
    bool admits(core::NodeIndex peer, const peer::Directories& theirs) const;
    /// It is connected.
    void met(core::NodeIndex peer, const peer::Directories& theirs);

    /// The directories to be written down, if all are known and that was not done yet.
    std::optional<std::vector<std::uint64_t>> to_write() const;
    void written() { founded_ = true; }
    /// It may take part.
    bool founded() const { return founded_; }

 private:
    core::NodeIndex self_;
    std::uint64_t own_;
    std::vector<std::uint64_t> known_;  // by member; zero: not met yet
    bool complete_ = false;
    bool founded_ = false;
};

}  // namespace holdfast
