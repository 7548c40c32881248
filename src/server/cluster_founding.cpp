#include "server/cluster_founding.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::server {

ClusterFounding::ClusterFounding(Parts parts)
    : self_(parts.self), own_(parts.found.own), known_(std::move(parts.found.founders)) {
    HOLDFAST_ASSERT(self_ < parts.members);
    founded_ = parts.members == 1 || known_.size() == parts.members;
    complete_ = founded_;
    known_.resize(parts.members);
    known_[self_] = own_;
}

doors::peer::Directories ClusterFounding::own() const {
    return {own_, founded_ ? known_ : std::vector<std::uint64_t>{}, 0, {}};
}

bool ClusterFounding::admits(store::quorum::NodeIndex peer, const doors::peer::Directories& theirs) const {
    if (theirs.own == 0 || peer >= known_.size()) return false;
    if (complete_) return theirs.own == known_[peer] && (theirs.founders.empty() || theirs.founders == known_);
    if (theirs.founders.empty()) return true;
    return theirs.founders.size() == known_.size() && theirs.founders[self_] == own_ &&
           theirs.founders[peer] == theirs.own;
}

void ClusterFounding::met(store::quorum::NodeIndex peer, const doors::peer::Directories& theirs) {
    if (complete_) return;
    known_[peer] = theirs.own;
    if (!theirs.founders.empty()) known_ = theirs.founders;
    complete_ = std::find(known_.begin(), known_.end(), 0U) == known_.end();
}

std::optional<std::vector<std::uint64_t>> ClusterFounding::to_write() const {
    if (founded_ || !complete_) return std::nullopt;
    return known_;
}

}  // namespace holdfast::server
