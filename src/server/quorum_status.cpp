#include "server/quorum_status.h"

#include <algorithm>
#include <cstdio>

#include "base/json_writer.h"
#include "base/time.h"

namespace holdfast::server {
namespace {

std::string decimal(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", number);
    return text;
}

void write_member(JsonWriter& json, const doors::peer::PeerStatus& peer, bool votes) {
    const bool connected = peer.self || peer.boot.has_value();
    json.open_object().field("id", peer.id).field("address", peer.address);
    json.flag("self", peer.self).flag("connected", connected).flag("voting", votes);
    json.key("silent_for_ms");
    peer.silent_for ? json.number(to_ms_up(*peer.silent_for)) : json.null();
    json.key("boot");
    peer.boot ? json.number(std::uint64_t{*peer.boot}) : json.null();
    json.key("rtt_ms");
    peer.round_trip ? json.raw(decimal(static_cast<double>(peer.round_trip->count()) / 1e6)) : json.null();
    json.field("queued_bytes", std::uint64_t{peer.bytes_queued}).field("dropped", peer.messages_dropped);
    json.key("refusal");
    peer.last_refusal.empty() ? json.null() : json.text(peer.last_refusal);
    json.close_object();
}

}  // namespace

std::size_t QuorumStatus::reachable() const {
    std::size_t count = 0;
    for (const doors::peer::PeerStatus& peer : peers.peers)
        count += peer.self || peer.boot ? 1 : 0;
    return count;
}

std::size_t QuorumStatus::voting() const {
    return static_cast<std::size_t>(std::count(votes.begin(), votes.end(), true));
}

std::string QuorumStatus::to_json() const {
    std::string text;
    JsonWriter json(text);
    json.open_object().field("node", settings.members.own().id).key("members").open_array();
    for (std::size_t member = 0; member < peers.peers.size(); ++member)
        write_member(json, peers.peers[member], votes[member]);
    json.close_array().field("majority", std::uint64_t{settings.config(1).majority()});
    json.field("reachable", std::uint64_t{reachable()}).field("voting", std::uint64_t{voting()});
    json.flag("founded", founded);
    json.field("silent_for_ms", to_ms_up(silent_for)).key("leader");
    if (leader) {
        json.open_object().field("id", leader->holder).field("token", leader->token);
        json.field("expires_in_ms", to_ms(leader->expires_at - now)).close_object();
    } else {
        json.null();
    }
    json.key("log");
    if (log) {
        json.open_object().field("committed", log->committed).field("applied", log->applied);
        json.flag("leads", log->leads).close_object();
    } else {
        json.null();
    }
    json.key("attempts").open_object().field("all", attempts.attempts).field("one_round", attempts.one_round);
    json.field("failed", attempts.failed).field("given_up", attempts.given_up).close_object();
    json.field("longest_ttl_ms", to_ms(settings.longest_ttl)).key("rho").raw(decimal(settings.rho)).close_object();
    return text;
}

}  // namespace holdfast::server
