#include "store/quorum/mail.h"

#include <algorithm>

#include "base/mutant.h"

namespace holdfast::core {
namespace {

constexpr Duration gone_after = 2s;  // a connection that breaks is there again long before

}  // namespace

Mail::Mail(const QuorumConfig& config, std::function<void(Envelope)> send)
    : config_(config), send_(std::move(send)), peers_(config.members) {}

void Mail::set_time(Instant now) {
    if (!now_)
        for (Peer& peer : peers_)
            peer.missed_since = now;
    now_ = now;
}

void Mail::set_peer(NodeIndex peer, std::optional<BootNumber> boot) {
    if (peer >= peers_.size() || peer == config_.node) return;
    if (!boot && peers_[peer].reachable) peers_[peer].missed_since = now_.value_or(Instant{});
    peers_[peer].reachable = boot;
    if (boot) peers_[peer].last = std::max(peers_[peer].last, *boot);
}

bool Mail::is_gone(RequestOrigin origin, Instant now) const {
    if (origin.boot == 0 || origin.node >= peers_.size()) return false;
    if (origin.node == config_.node) return !origin.is_of(config_.boot);
    const Peer& peer = peers_[origin.node];
    if (peer.reachable) return !origin.is_of(*peer.reachable);
    return now >= peer.missed_since && now - peer.missed_since >= gone_after;
}

bool Mail::admits(const Envelope& envelope) {
    if (envelope.to != config_.node || envelope.from == config_.node || envelope.from >= peers_.size()) return false;
    if (mutant("former_life_heard")) return true;
    if (envelope.to_boot != config_.boot) return false;
    BootNumber& last = peers_[envelope.from].last;
    if (envelope.from_boot < last) return false;
    last = envelope.from_boot;
    return true;
}

void Mail::to_all(const QuorumMessage& message) {
    for (NodeIndex peer = 0; peer < config_.members; ++peer)
        if (peers_[peer].reachable) to(peer, message);
}

void Mail::to(NodeIndex peer, QuorumMessage message) {
    if (!peers_[peer].reachable) return;
    send_({config_.node, peer, config_.boot, *peers_[peer].reachable, std::move(message)});
}

void Mail::answer(const Envelope& asked, QuorumMessage message) {
    send_({config_.node, asked.from, config_.boot, asked.from_boot, std::move(message)});
}

}  // namespace holdfast::core
