#include "base/code.h"

#include <algorithm>
#include <array>
#include <ostream>

namespace holdfast::inline base {
namespace {

struct Text {
    Code code;
    std::string_view name;
    std::string_view advice;
};

constexpr std::array<Text, code_count> texts{{
    {Code::busy, "busy", "another holder has it; wait with wait_ms, or ask again after retry_in_ms"},
    {Code::wait_timeout, "wait_timeout", "the wait timed out; wait longer, or ask again"},
    {Code::cancelled, "cancelled", "the client went away while it waited; it left the queue"},
    {Code::die, "die",
     "an older agent is in the way; release what you hold, stop, and come back after retry_in_ms with the same "
     "priority "
     "and the next epoch"},
    {Code::stale_epoch, "stale_epoch", "a newer epoch of this agent has been seen; this process must stop"},
    {Code::agent_restarting, "agent_restarting",
     "this epoch of the agent has declared its restart; come back with the next one"},
    {Code::unknown_agent, "unknown_agent", "no such agent; register it with PUT /v1/agents/{id}"},
    {Code::priority_fixed, "priority_fixed",
     "the priority cannot change while the agent holds or waits for anything, nor between a DIE and its next grant"},
    {Code::agent_busy, "agent_busy", "the agent holds or waits for something; release it first"},
    {Code::too_many_agents, "too_many_agents", "the limit on registered agents is reached; remove unused ones"},
    {Code::over_quota, "over_quota", "this holder has used up its quota; release, and ask again later"},
    {Code::lease_idle, "lease_idle",
     "the progress counter has not moved for too long; the lease runs out unless it does"},
    {Code::recovering, "recovering",
     "the server stopped uncleanly and grants nothing until every lease it may have granted has ended; ask again after "
     "retry_in_ms"},
    {Code::stopping, "stopping", "the server is stopping; ask again when it is back"},
    {Code::tokens_exhausted, "tokens_exhausted",
     "fencing tokens are granted faster than the disk reserves them; ask again after retry_in_ms"},
    {Code::too_many_leases, "too_many_leases", "the limit on leases of this resource is reached; ask again later"},
    {Code::too_many_waiters, "too_many_waiters", "the limit on waiting requests is reached; ask again later"},
    {Code::too_many_connections, "too_many_connections", "the limit on connections is reached; try again later"},
    {Code::memory_full, "memory_full",
     "the server's memory limit is reached; release what is not needed, or ask again after retry_in_ms"},
    {Code::idempotency_in_progress, "idempotency_in_progress",
     "the first request with this idempotency key has not been answered yet; ask again after retry_in_ms"},
    {Code::idempotency_mismatch, "idempotency_mismatch",
     "this idempotency key was used for another request; use a new key for a new request"},
    {Code::banned, "banned", "this holder is banned; ask an admin to lift the ban"},
    {Code::name_refused, "name_refused", "the policy's name pattern does not match this resource; choose another name"},
    {Code::ttl_too_short, "ttl_too_short", "the TTL is below the policy's minimum; ask for more"},
    {Code::ttl_too_long, "ttl_too_long", "the TTL is above the policy's maximum; ask for less"},
    {Code::unknown_lease, "unknown_lease",
     "no such lease: never granted, lost in a restart, or ended long ago; stop the work and acquire again"},
    {Code::lease_expired, "lease_expired", "the lease has expired; stop the work and acquire again"},
    {Code::lease_released, "lease_released", "the lease was released; acquire again"},
    {Code::lease_revoked, "lease_revoked", "an admin revoked the lease; stop the work"},
    {Code::not_holder, "not_holder", "this lease belongs to another holder"},
    {Code::renewal_barred, "renewal_barred", "an admin barred this lease from renewal; finish before it ends"},
    {Code::not_banned, "not_banned", "this holder is not banned"},
    {Code::key_tag_mismatch, "key_tag_mismatch",
     "the key is held with another tag; connect with that tag, or when its backend has ended"},
    {Code::nothing_to_start, "nothing_to_start", "no backend holds this key; say with spawn what to start"},
    {Code::spawn_not_allowed, "spawn_not_allowed",
     "this server listens beyond loopback, and so starts no backends for its clients; start it with --allow-spawn if "
     "you trust every client that can reach it"},
    {Code::no_drone, "no_drone",
     "no drone of this pool that was heard from lately has room; start one, or ask again after retry_in_ms"},
    {Code::key_race_lost, "key_race_lost", "the key changed hands too often while connecting; connect again"},
    {Code::backend_id_taken, "backend_id_taken", "a backend of another key has this id; choose another, or none"},
    {Code::unknown_key, "unknown_key", "nobody holds this key"},
    {Code::unknown_backend, "unknown_backend",
     "no such backend: never started, ended some minutes ago, or not yet reported by its drone to this server"},
    {Code::unknown_drone, "unknown_drone",
     "no such drone, or another incarnation of it; a drone sends a heartbeat first"},
    {Code::stale_drone, "stale_drone", "a newer incarnation of this drone has registered; this one must stop"},
    {Code::drone_alive, "drone_alive", "the drone was heard from lately; stop it and wait 45 s"},
    {Code::too_many_drones, "too_many_drones", "the limit on registered drones is reached; remove dead ones"},
    {Code::too_many_backends, "too_many_backends", "the limit on backends is reached; ask again later"},
    {Code::superseded, "superseded", "another publisher of this identity has the name; stand by until that one ends"},
    {Code::name_taken, "name_taken", "another identity has the name; choose another, or wait until it is free"},
    {Code::name_denied, "name_denied",
     "an admin has denied this name to this identity, or keeps it for another; choose another name, or ask an admin to "
     "allow it"},
    {Code::bad_signature, "bad_signature", "the signature does not match the message and the key"},
    {Code::invalid_identity, "invalid_identity", "this is not an Ed25519 public key, or not the id of one"},
    {Code::replayed, "replayed", "this message was seen before; sign a new one with a new nonce"},
    {Code::other_relay, "other_relay",
     "the message was signed for another incarnation of the relay; sign it again with the relay and time_ms of this "
     "answer"},
    {Code::clock_apart, "clock_apart",
     "time_ms is more than a minute from the relay's clock; sign again with the time_ms of this answer"},
    {Code::awaiting_approval, "awaiting_approval",
     "an admin approves publishers here, and has not approved this identity yet; ask for it, and try again"},
    {Code::invalid_name, "invalid_name", "this is not a valid service name"},
    {Code::invalid_alpn, "invalid_alpn", "up to 16 protocol names of 1 to 255 bytes of text"},
    {Code::invalid_metadata, "invalid_metadata", "up to 64 pairs of text, 4 KiB together, with keys of 1 to 128 bytes"},
    {Code::too_many_services, "too_many_services", "the limit on services is reached; withdraw some"},
    {Code::unknown_service, "unknown_service", "nobody advertises a service under this name"},
    {Code::reserved_namespace, "reserved_namespace",
     "what is in ~services is signed for by its publisher; advertise it through the relay or POST /v1/services, and "
     "take a name away with 'holdfast service deny NAME'"},
    {Code::service_lease, "service_lease",
     "this lease belongs to a service of the server, which alone takes it and gives it back; use the service's own "
     "verb"},
    {Code::invalid_json, "invalid_json", "the body is not a JSON object in UTF-8"},
    {Code::unknown_field, "unknown_field", "unknown field"},
    {Code::invalid_argument, "invalid_argument", "a field has an invalid value"},
    {Code::invalid_policy, "invalid_policy", "the policy was not changed: a setting is invalid"},
    {Code::bad_request, "bad_request", "this is not a request in HTTP/1.1"},
    {Code::origin_refused, "origin_refused",
     "cross-origin requests and requests for another host name are refused; allow a name with --allow-host"},
    {Code::not_found, "not_found", "no such route; GET /openapi.json lists them"},
    {Code::not_clustered, "not_clustered", "this server is not a node of a cluster, so it has no quorum"},
    {Code::method_not_allowed, "method_not_allowed", "this route does not take that method; see GET /openapi.json"},
    {Code::body_too_large, "body_too_large", "the request body is too large; split the request"},
    {Code::header_too_large, "header_too_large", "the request header is too large"},
    {Code::answer_too_large, "answer_too_large",
     "the answer would be too large; name fewer leases in one request, and send several"},
    {Code::request_timeout, "request_timeout", "the request did not arrive in time"},
    {Code::unavailable, "unavailable",
     "no majority of the cluster answered in time; the outcome is unknown, ask again"},
    {Code::store_unavailable, "store_unavailable",
     "the engine that keeps the leases cannot be reached or did not answer in time; ask again after retry_in_ms"},
    {Code::storage_failed, "storage_failed",
     "the disk refused the write; the change is not in force, but may take effect later: check, then ask again"},
    {Code::unauthenticated, "unauthenticated",
     "this server asks who you are, and found no valid credentials in the request; pass an API token or use a client "
     "certificate that is mapped to a principal"},
    {Code::forbidden, "forbidden",
     "this principal has no grant for that; ask an admin for one with the verb, the namespace and the prefix named"},
    {Code::unknown_principal, "unknown_principal", "no such principal; create it first"},
    {Code::principal_exists, "principal_exists",
     "there is a principal of this name; choose another, or remove that one"},
    {Code::unknown_role, "unknown_role", "no such role; create it first, or use one of the built-in roles"},
    {Code::role_fixed, "role_fixed", "the built-in roles cannot be changed or removed; create a role of another name"},
    {Code::role_in_use, "role_in_use", "principals have this role; revoke it from them first"},
    {Code::unknown_api_token, "unknown_api_token", "no such API token, or it was revoked"},
    {Code::too_many_api_tokens, "too_many_api_tokens",
     "two API tokens of this principal are valid already; revoke one, or wait until one expires"},
    {Code::unknown_mapping, "unknown_mapping", "no certificates are mapped by this pattern"},
    {Code::mapping_taken, "mapping_taken",
     "this pattern maps certificates to another principal; remove that mapping first"},
    {Code::no_admin, "no_admin",
     "no principal that may change access control would have a valid API token; give one to another such principal "
     "first"},
    {Code::auth_full, "auth_full",
     "the limit on principals, roles or mappings, or on their size, is reached; remove what is not used"},
    {Code::unreachable, "unreachable", {}},
    {Code::not_holdfast, "not_holdfast", {}},
    {Code::bad_answer, "bad_answer", {}},
    {Code::malformed, "malformed", {}},
    {Code::refused, "refused", {}},
    {Code::elsewhere, "elsewhere", {}},
    {Code::not_connected, "not_connected", {}},
    {Code::no_answer, "no_answer", {}},
    {Code::too_many_streams, "too_many_streams", {}},
    {Code::too_many_calls, "too_many_calls", {}},
    {Code::too_many_publishers, "too_many_publishers", {}},
    {Code::unknown_ticket, "unknown_ticket", {}},
    {Code::stream_broken, "stream_broken", {}},
    {Code::lost, "lost", {}},
    {Code::already_started, "already_started", {}},
    {Code::no_thread, "no_thread", {}},
    {Code::stopped, "stopped", {}},
    {Code::invalid_session, "invalid_session", {}},
    {Code::too_many_sessions, "too_many_sessions", {}},
    {Code::not_preferred, "not_preferred", {}},
    {Code::too_many_nodes, "too_many_nodes", {}},
    {Code::digest_damaged, "digest_damaged", {}},
    {Code::digest_in_use, "digest_in_use", {}},
    {Code::digest_version, "digest_version", {}},
    {Code::identity_corrupt, "identity_corrupt", {}},
    {Code::identity_exists, "identity_exists", {}},
    {Code::identity_exposed, "identity_exposed", {}},
    {Code::identity_missing, "identity_missing", {}},
    {Code::identity_not_saved, "identity_not_saved", {}},
    {Code::state_unusable, "state_unusable", {}},
    {Code::state_corrupt, "state_corrupt", {}},
    {Code::state_in_use, "state_in_use", {}},
    {Code::state_too_new, "state_too_new", {}},
    {Code::state_too_old, "state_too_old", {}},
    {Code::other_owner, "other_owner", {}},
    {Code::members_differ, "members_differ", {}},
    {Code::store_lost, "store_lost", {}},
    {Code::store_format, "store_format", {}},
    {Code::conflict, "conflict", {}},
    {Code::too_large, "too_large", {}},
    {Code::too_many, "too_many", {}},
    {Code::clock_unusable, "clock_unusable", {}},
    {Code::insecure_address, "insecure_address", {}},
    {Code::cannot_listen, "cannot_listen", {}},
    {Code::tls_unusable, "tls_unusable", {}},
    {Code::no_pump, "no_pump", {}},
    {Code::no_secret, "no_secret", {}},
    {Code::short_secret, "short_secret", {}},
    {Code::long_secret, "long_secret", {}},
    {Code::exposed_secret, "exposed_secret", {}},
    {Code::cannot_run, "cannot_run", {}},
    {Code::no_port, "no_port", {}},
    {Code::port_in_use, "port_in_use", {}},
    {Code::backend_ended, "backend_ended", {}},
    {Code::start_timed_out, "start_timed_out", {}},
    {Code::no_git, "no_git", {}},
    {Code::no_repository, "no_repository", {}},
    {Code::git_failed, "git_failed", {}},
    {Code::hook_exists, "hook_exists", {}},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < texts.size(); ++i)
        if (static_cast<std::size_t>(texts[i].code) != i) return false;
    return true;
}
static_assert(in_order(), "the table must list the codes in the order of the enum");

}  // namespace

std::string_view name_of(Code code) {
    return texts[static_cast<std::size_t>(code)].name;
}

std::optional<Code> code_in(std::string_view name) {
    for (const Text& text : texts)
        if (text.name == name) return text.code;
    return std::nullopt;
}

std::string_view advice_of(Code code) {
    return texts[static_cast<std::size_t>(code)].advice;
}

ErrorCode ErrorCode::named(std::string_view name) {
    if (const auto code = code_in(name)) return *code;
    std::size_t bytes = std::min(name.size(), max_bytes);
    while (bytes > 0 && bytes < name.size() && (static_cast<unsigned char>(name[bytes]) & 0xc0) == 0x80)
        --bytes;  // not within a character
    ErrorCode foreign;
    foreign.foreign_ = name.substr(0, bytes);
    return foreign;
}

std::ostream& operator<<(std::ostream& out, const ErrorCode& code) {
    return out << code.name();
}

}  // namespace holdfast::inline base
