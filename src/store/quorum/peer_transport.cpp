#include "store/quorum/peer_transport.h"

#include <algorithm>

namespace holdfast::store::quorum {
namespace {

constexpr Duration gone_after = 2s;  // a broken connection is restored long before

}  // namespace

PeerTransport::PeerTransport(const QuorumConfig& config, std::function<void(Envelope)> send)
    : config_(config), send_(std::move(send)), peers_(config.members) {}

void PeerTransport::set_time(Instant now) {
    if (!now_)
        for (Peer& peer : peers_)
            peer.missed_since = now;
    now_ = now;
}

void PeerTransport::set_peer(NodeIndex peer, std::optional<BootNumber> boot) {
    if (peer >= peers_.size() || peer == config_.node) return;
    if (!boot && peers_[peer].reachable) peers_[peer].missed_since = now_.value_or(Instant{});
    peers_[peer].reachable = boot;
    if (boot) peers_[peer].last = std::max(peers_[peer].last, *boot);
}

void PeerTransport::set_silence(NodeIndex peer, Instant until) {
    if (peer < peers_.size()) peers_[peer].silent_until = until;
}

bool PeerTransport::votes(NodeIndex peer, Instant now) const {
    return peer < peers_.size() && peers_[peer].reachable && now >= peers_[peer].silent_until;
}

bool PeerTransport::may_decide(bool this_one_votes, Instant now) const {
    std::size_t count = this_one_votes ? 1 : 0;
    for (NodeIndex peer = 0; peer < peers_.size(); ++peer) {
        if (peer == config_.node) continue;
        const Peer& one = peers_[peer];
        const bool missed_lately = !one.reachable && (now < one.missed_since || now - one.missed_since < gone_after);
        count += votes(peer, now) || missed_lately ? 1 : 0;
    }
    return count >= config_.majority();
}

std::optional<Duration> PeerTransport::decides_in(Duration own_silence, Instant now) const {
    std::vector<Duration> silences{own_silence};
    for (NodeIndex peer = 0; peer < peers_.size(); ++peer)
        if (peer != config_.node && peers_[peer].reachable)
            silences.push_back(std::max(peers_[peer].silent_until - now, Duration::zero()));
    if (silences.size() < config_.majority()) return std::nullopt;
    std::sort(silences.begin(), silences.end());
    return silences[config_.majority() - 1];
}

bool PeerTransport::is_gone(RequestOrigin origin, Instant now) const {
    if (origin.boot == 0 || origin.node >= peers_.size()) return false;
    if (origin.node == config_.node) return !origin.is_of(config_.boot);
    const Peer& peer = peers_[origin.node];
    if (peer.reachable) return !origin.is_of(*peer.reachable);
    return now >= peer.missed_since && now - peer.missed_since >= gone_after;
}

bool PeerTransport::admits(const Envelope& envelope) {
    if (envelope.to != config_.node || envelope.from == config_.node || envelope.from >= peers_.size()) return false;
    if (envelope.to_boot != config_.boot) return false;
    BootNumber& last = peers_[envelope.from].last;
    if (envelope.from_boot < last) return false;
    last = envelope.from_boot;
    return true;
}

void PeerTransport::to_all(const QuorumMessage& message) {
    for (NodeIndex peer = 0; peer < config_.members; ++peer)
        if (peers_[peer].reachable) to(peer, message);
}

void PeerTransport::to(NodeIndex peer, QuorumMessage message) {
    if (!peers_[peer].reachable) return;
    send_({config_.node, peer, config_.boot, *peers_[peer].reachable, std::move(message)});
}

void PeerTransport::answer(const Envelope& asked, QuorumMessage message) {
    send_({config_.node, asked.from, config_.boot, asked.from_boot, std::move(message)});
}

}  // namespace holdfast::store::quorum
