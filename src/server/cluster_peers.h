#pragma once

#include <map>

#include "server/cluster_founding.h"
#include "store/quorum/peer_lives.h"

namespace holdfast {

/// Which members this node talks to: those whose state directory belongs to the cluster (cluster_founding.h), and is
/// not an earlier copy of what it was (store/quorum/peer_lives.h).
class ClusterPeers final : public peer::Founders {
 public:
    struct Parts {
        ClusterFounding::Parts founding;
        core::PeerLives::Parts lives;
    };
    explicit ClusterPeers(Parts parts) : founding(std::move(parts.founding)), lives(std::move(parts.lives)) {}

    peer::Directories own() const override {
        peer::Directories said = founding.own();
        said.incarnation = lives.own().incarnation;
        said.lives = lives.durable();
        return said;
    }

    std::optional<peer::Refusal> refuses(peer::Life peer, const peer::Directories& theirs) const override {
        if (!founding.admits(peer.node, theirs)) return peer::Refusal::other_directory;
        const core::LifeMark known_there =
            founding.self() < theirs.lives.size() ? theirs.lives[founding.self()] : core::LifeMark{};
        switch (lives.judge(peer.node, {peer.boot, theirs.incarnation}, known_there)) {
            case core::PeerLives::Judgement::theirs_is_old:
                return peer::Refusal::old_boot;
            case core::PeerLives::Judgement::ours_is_old:
                return peer::Refusal::old_directory;
            case core::PeerLives::Judgement::current:
                break;
        }
        return std::nullopt;
    }

    void met(peer::Life peer, const peer::Directories& theirs) override {
        founding.met(peer.node, theirs);
        lives.met(peer.node, {peer.boot, theirs.incarnation}, theirs.lives);
        incarnations[peer.node] = {peer.boot, theirs.incarnation};
    }

    void found_old() override { lives.found_old(); }

    /// That life of it may be listened and talked to.
    bool may_take_part(core::NodeIndex peer, core::BootNumber boot) const {
        const auto found = incarnations.find(peer);
        return founding.founded() && found != incarnations.end() && found->second.boot == boot &&
               lives.may_take_part(peer, found->second);
    }

    ClusterFounding founding;
    core::PeerLives lives;

 private:
    std::map<core::NodeIndex, core::LifeMark> incarnations;  // of those that were connected last
};

}  // namespace holdfast
