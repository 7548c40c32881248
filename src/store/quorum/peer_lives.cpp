#include "store/quorum/peer_lives.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::store::quorum {

PeerLives::PeerLives(Parts parts) : self_(parts.self), own_(std::move(parts.own)), seen_(std::move(parts.seen)) {
    HOLDFAST_ASSERT(self_ < parts.members && !own_.empty());
    seen_.resize(parts.members);
    durable_ = seen_;
}

PeerLives::Judgement PeerLives::judge(NodeIndex peer, LifeMark theirs, LifeMark known_there) const {
    if (old()) return Judgement::ours_is_old;
    const LifeMark& latest = seen_.at(peer);
    const bool twin = theirs.boot == latest.boot && theirs.incarnation != latest.incarnation;
    if (theirs.boot < latest.boot || twin) return Judgement::theirs_is_old;
    return was_ours(known_there) ? Judgement::current : Judgement::ours_is_old;
}

/// A copy that was started often enough has a higher boot number than the latest incarnation of its member. But the
/// others know an incarnation that the copy never had.
bool PeerLives::was_ours(LifeMark mark) const {
    if (mark.boot == 0) return true;
    if (mark.incarnation == 0) return mark.boot < own().boot;
    return std::find(own_.rbegin(), own_.rend(), mark) != own_.rend();
}

void PeerLives::met(NodeIndex peer, LifeMark theirs, const std::vector<LifeMark>& known_there) {
    keep_if_later(peer, theirs);
    told(peer, known_there);
}

/// A later incarnation of a third member that only the peer has met must not be missed.
void PeerLives::told(NodeIndex peer, const std::vector<LifeMark>& known_there) {
    for (std::size_t member = 0; member < std::min(known_there.size(), seen_.size()); ++member) {
        if (member == self_ || member == peer) continue;
        keep_if_later(member, known_there[member]);
        note_twin(member, known_there[member]);
    }
}

/// Two incarnations have one boot number: one of them is of a copy, and it is unknown which. This node talks to
/// neither. A later incarnation of either detects by itself whether others know an incarnation that it never had.
void PeerLives::note_twin(std::size_t member, LifeMark mark) {
    LifeMark& known = seen_.at(member);
    const bool twin = mark.boot == known.boot && mark.incarnation != known.incarnation;
    if (twin && mark.incarnation != 0) known.incarnation = 0;
}

void PeerLives::keep_if_later(std::size_t member, LifeMark mark) {
    if (mark.boot > seen_.at(member).boot) seen_[member] = mark;
}

bool PeerLives::old() const {
    return old_;
}

std::optional<std::vector<LifeMark>> PeerLives::to_write() const {
    if (seen_ == durable_) return std::nullopt;
    return seen_;
}

void PeerLives::written(const std::vector<LifeMark>& lives) {
    HOLDFAST_ASSERT(lives.size() == durable_.size());
    durable_ = lives;
}

bool PeerLives::may_take_part(NodeIndex peer, LifeMark theirs) const {
    return !old() && seen_.at(peer) == theirs && durable_[peer] == theirs;
}

}  // namespace holdfast::store::quorum
