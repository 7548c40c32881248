#pragma once

#include <optional>
#include <vector>

#include "store/quorum/ballot.h"

namespace holdfast::core {

/// One start of a node. Boot numbers count the starts of a state directory, so two copies of one directory give the
/// same numbers; the incarnation, chosen at random at each start, tells them apart.
struct LifeMark {
    BootNumber boot = 0;            ///< 0: none is known
    std::uint64_t incarnation = 0;  ///< 0: of a version that chose none

    bool operator==(const LifeMark&) const = default;
};

/// Keeps earlier copies of a member's state directory out of the cluster (Q12). A copy has forgotten what its member
/// agreed to since, and cannot know it: it looks as if it had been stopped cleanly. So each node writes the latest life
/// of every other down before it takes part in anything together with it, and says in its introduction which those are.
/// Whoever finds a later one of the other, or a life of its own that its directory does not know, does not talk.
///
/// Pure: whoever has a disk asks to_write() and calls written().
class PeerLives {
 public:
    struct Parts {
        NodeIndex self = 0;
        std::size_t members = 1;
        std::vector<LifeMark> own;   ///< the lives of this directory by their boots; the last is the one that begins
        std::vector<LifeMark> seen;  ///< by member: as written down by earlier lives; empty: none
    };
    explicit PeerLives(Parts parts);

    const LifeMark& own() const { return own_.back(); }
    /// By member: the latest lives that are written down here, for introductions.
    const std::vector<LifeMark>& durable() const { return durable_; }

    enum class Judgement : std::uint8_t { current, theirs_is_old, ours_is_old };
    /// `known_there`: what the peer has written down of this node.
    Judgement judge(NodeIndex peer, LifeMark theirs, LifeMark known_there) const;

    /// A peer that was judged to be current is connected, and has written these lives down.
    void met(NodeIndex peer, LifeMark theirs, const std::vector<LifeMark>& known_there);

    /// The lives to be written down, if that is not done yet.
    std::optional<std::vector<LifeMark>> to_write() const;
    void written(const std::vector<LifeMark>& lives);

    /// That life of it is the latest, and is written down.
    bool may_take_part(NodeIndex peer, LifeMark theirs) const;

 private:
    bool was_ours(LifeMark mark) const;
    void keep_if_later(std::size_t member, LifeMark mark);

    NodeIndex self_;
    std::vector<LifeMark> own_;
    std::vector<LifeMark> seen_;     // by member
    std::vector<LifeMark> durable_;  // likewise; never later than seen_
};

}  // namespace holdfast::core
