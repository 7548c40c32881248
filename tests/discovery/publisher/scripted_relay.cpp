#include "discovery/publisher/scripted_relay.h"

namespace holdfast::discovery::publisher {
namespace {

constexpr std::int64_t window_ms = 60'000;

}  // namespace

bool ScriptedRelay::active(const std::string& name, std::uint64_t token, HolderInstant now) const {
    const auto found = leases.find(name);
    return found != leases.end() && found->second.token == token && now < found->second.expires_at;
}

void ScriptedRelay::connection_closed(std::uint64_t connection) {
    std::erase_if(leases, [&](const auto& entry) { return entry.second.connection == connection; });
}

UpdateResponse ScriptedRelay::answer(const SignedUpdate& message, std::uint64_t connection, HolderInstant now) {
    UpdateResponse response{.number = message.number, .time_ms = time_ms(now), .relay = life};
    const auto say = [&](std::optional<ErrorCode> why) {
        response.refused = std::move(why);
        response.retry_in = retry_in;
        return response;
    };
    const auto verifier = identity::Verifier::of(message.public_key);
    if (!verifier || !verifier->verify(identity::update_purpose, message.request, message.signature))
        return say(Code::bad_signature);
    const auto update = decode_update(message.request);
    if (!update) return say(Code::invalid_argument);
    updates.push_back(*update);
    if (update->relay != life) return say(Code::other_relay);
    if (std::abs(update->time_ms - time_ms(now)) > window_ms) return say(Code::clock_apart);
    if (!nonces.emplace(update->nonce, now).second) return say(Code::replayed);
    response.name = update->name.empty() ? "~00000000000000" + std::to_string(10 + last_token % 90) : update->name;
    if (code) return say(code);

    const auto found = leases.find(response.name);
    const bool taken = found != leases.end() && now < found->second.expires_at;
    if (update->action == Action::unregister) {
        if (taken && found->second.token == update->token) leases.erase(found);
        return say(std::nullopt);
    }
    if (update->action == Action::renew) {
        if (taken && found->second.token != update->token) return say(Code::superseded);
        if (!taken) return say(Code::unknown_lease);
    } else {
        if (taken && update->returning && found->second.token != update->token) return say(Code::superseded);
        leases[response.name] = Lease{.token = ++last_token, .connection = connection};
    }
    Lease& lease = leases[response.name];
    lease.expires_at = now + ttl;
    response.token = lease.token;
    response.ttl = ttl;
    response.expires_in = ttl;
    response.renew_in = std::min<Duration>(5s, ttl / 6);
    return say(std::nullopt);
}

}  // namespace holdfast::discovery::publisher
