#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::inline base {

/// The reasons for refusals and failures: stable names that programs may match, listed in docs/http-api.md.
enum class Code : std::uint8_t {
    busy,
    wait_timeout,
    cancelled,
    die,
    stale_epoch,
    agent_restarting,
    unknown_agent,
    priority_fixed,
    agent_busy,
    too_many_agents,
    over_quota,
    lease_idle,
    recovering,
    stopping,
    tokens_exhausted,
    too_many_leases,
    too_many_waiters,
    too_many_connections,
    memory_full,
    idempotency_in_progress,
    idempotency_mismatch,
    banned,
    name_refused,
    ttl_too_short,
    ttl_too_long,
    unknown_lease,
    lease_expired,
    lease_released,
    lease_revoked,
    not_holder,
    renewal_barred,
    not_banned,
    key_tag_mismatch,
    nothing_to_start,
    spawn_not_allowed,
    no_drone,
    key_race_lost,
    backend_id_taken,
    unknown_key,
    unknown_backend,
    unknown_drone,
    stale_drone,
    drone_alive,
    too_many_drones,
    too_many_backends,
    superseded,
    name_taken,
    name_denied,
    bad_signature,
    invalid_identity,
    replayed,
    other_relay,
    clock_apart,
    awaiting_approval,
    invalid_name,
    invalid_alpn,
    invalid_metadata,
    too_many_services,
    unknown_service,
    reserved_namespace,
    service_lease,
    invalid_json,
    unknown_field,
    invalid_argument,
    invalid_policy,
    bad_request,
    origin_refused,
    not_found,
    not_clustered,
    method_not_allowed,
    body_too_large,
    header_too_large,
    answer_too_large,
    request_timeout,
    unavailable,
    store_unavailable,
    storage_failed,
    unauthenticated,
    forbidden,
    unknown_principal,
    principal_exists,
    unknown_role,
    role_fixed,
    role_in_use,
    unknown_api_token,
    too_many_api_tokens,
    unknown_mapping,
    mapping_taken,
    no_admin,
    auth_full,
};
inline constexpr std::size_t code_count = static_cast<std::size_t>(Code::auth_full) + 1;

/// The name a program matches, such as `not_holder`.
std::string_view name_of(Code code);
/// Returns nullopt if no code has this name.
std::optional<Code> code_in(std::string_view name);

/// What happened and what to do next, for people.
std::string_view advice_of(Code code);

}  // namespace holdfast::inline base
