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
/// Whoever finds a later one of the other does not talk to it; whoever finds a life of its own that its directory does
/// not know takes part in nothing. What is written down is also said to those that are connected, again and again, so
/// that a life which only some can reach is known to all that can reach any of those.
///
/// A member that was cut off from all who know of a later life takes a copy for current; no rule can prevent that while
/// any majority may go on (docs/decisions/0008-quorum.md).
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
    /// A peer that is connected has written these lives of third members down.
    void told(NodeIndex peer, const std::vector<LifeMark>& known_there);
    /// Another member has found, or this one has, that this directory is an earlier copy.
    void found_old() { old_ = true; }

    /// The lives to be written down, if that is not done yet.
    std::optional<std::vector<LifeMark>> to_write() const;
    void written(const std::vector<LifeMark>& lives);

    /// That life of it is the latest, and is written down.
    bool may_take_part(NodeIndex peer, LifeMark theirs) const;

 private:
    bool old() const;
    bool was_ours(LifeMark mark) const;
    void keep_if_later(std::size_t member, LifeMark mark);
    void note_twin(std::size_t member, LifeMark mark);

    NodeIndex self_;
    std::vector<LifeMark> own_;
    std::vector<LifeMark> seen_;     // by member
    std::vector<LifeMark> durable_;  // likewise; never later than seen_
    bool old_ = false;
};

}  // namespace holdfast::core
