#pragma once

#include <optional>
#include <vector>

#include "store/quorum/ballot.h"

namespace holdfast::store::quorum {

/// One start of a node. Boot numbers count the starts of a state directory, so two copies of one directory give the
/// same numbers; the incarnation, chosen at random at each start, tells them apart.
struct LifeMark {
    BootNumber boot = 0;            ///< 0 if none is known
    std::uint64_t incarnation = 0;  ///< 0 if its version chose none

    bool operator==(const LifeMark&) const = default;
};

/// Keeps earlier copies of a member's state directory out of the cluster (Q12). A copy has forgotten what its member
/// agreed to since, and cannot know it: it looks like a member that was stopped cleanly. Each node therefore persists
/// the latest incarnation of every other member before it takes part in anything with it, and sends these in its
/// introduction. A node that knows a later incarnation of its peer does not talk to that peer. A node whose peer knows
/// an incarnation of it that its own directory does not know takes part in nothing. The persisted incarnations are also
/// sent to the connected peers repeatedly, so that an incarnation that only some members can reach becomes known to
/// every member that can reach any of those.
///
/// A member that was cut off from all members that know of a later incarnation takes a copy for current; no rule can
/// prevent that while any majority may go on (docs/decisions/0008-quorum.md).
///
/// Pure: the owner of the disk calls to_write(), writes, and calls written().
class PeerLives {
 public:
    struct Parts {
        NodeIndex self = 0;
        std::size_t members = 1;
        std::vector<LifeMark> own;  ///< the incarnations of this directory by boot number; the last one is starting now
        std::vector<LifeMark> seen;  ///< by member, as persisted by earlier incarnations; may be empty
    };
    explicit PeerLives(Parts parts);

    const LifeMark& own() const { return own_.back(); }
    /// The latest incarnations that are durable here, by member, for introductions.
    const std::vector<LifeMark>& durable() const { return durable_; }

    enum class Judgement : std::uint8_t { current, theirs_is_old, ours_is_old };
    /// `known_there`: the incarnation of this node that the peer has persisted.
    Judgement judge(NodeIndex peer, LifeMark theirs, LifeMark known_there) const;

    /// A peer that was judged current is connected, and has persisted these incarnations.
    void met(NodeIndex peer, LifeMark theirs, const std::vector<LifeMark>& known_there);
    /// A connected peer has persisted these incarnations of third members.
    void told(NodeIndex peer, const std::vector<LifeMark>& known_there);
    /// This node or another has found that this directory is an earlier copy.
    void found_old() { old_ = true; }

    /// The incarnations to persist; nullopt if all are durable.
    std::optional<std::vector<LifeMark>> to_write() const;
    void written(const std::vector<LifeMark>& lives);

    /// True if this incarnation of the peer is the latest and is durable.
    bool may_take_part(NodeIndex peer, LifeMark theirs) const;

 private:
    bool old() const;
    bool was_ours(LifeMark mark) const;
    void keep_if_later(std::size_t member, LifeMark mark);
    void note_twin(std::size_t member, LifeMark mark);

    NodeIndex self_;
    std::vector<LifeMark> own_;
    std::vector<LifeMark> seen_;     // by member
    std::vector<LifeMark> durable_;  // by member; never later than seen_
    bool old_ = false;
};

}  // namespace holdfast::store::quorum
