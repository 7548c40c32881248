#include "cli/exit_codes.h"

#include <algorithm>

namespace holdfast::cli {
bool says_later(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

int exit_code_of(Code code) {
    switch (code) {
        case Code::busy:
        case Code::wait_timeout:
        case Code::cancelled:
        case Code::key_tag_mismatch:
        case Code::key_race_lost:
        case Code::superseded:
        case Code::name_taken:
            return exit_busy;
        case Code::unknown_lease:
        case Code::lease_expired:
        case Code::lease_released:
        case Code::lease_revoked:
        case Code::stale_epoch:  // another incarnation has taken over
        case Code::stale_drone:
            return exit_lost;
        case Code::unreachable:
            return exit_unreachable;
        case Code::die:
            return exit_told_to_die;
        // Temporary: it passes by itself, or when a holder releases something.
        case Code::priority_fixed:
        case Code::agent_busy:
        case Code::too_many_agents:
        case Code::over_quota:
        case Code::recovering:
        case Code::stopping:
        case Code::tokens_exhausted:
        case Code::too_many_leases:
        case Code::too_many_waiters:
        case Code::too_many_connections:
        case Code::memory_full:
        case Code::idempotency_in_progress:
        case Code::no_drone:
        case Code::drone_alive:
        case Code::too_many_drones:
        case Code::too_many_backends:
        case Code::too_many_services:
        case Code::replayed:
        case Code::other_relay:
        case Code::awaiting_approval:
        case Code::request_timeout:
        case Code::unavailable:
        case Code::store_unavailable:
        case Code::storage_failed:
        case Code::too_many_api_tokens:
        case Code::auth_full:
        case Code::not_connected:
        case Code::no_answer:
        case Code::too_many_streams:
        case Code::too_many_publishers:
            return exit_not_now;
        // The request, the policy or the server has to change first.
        case Code::agent_restarting:
        case Code::unknown_agent:
        case Code::lease_idle:
        case Code::idempotency_mismatch:
        case Code::banned:
        case Code::name_refused:
        case Code::ttl_too_short:
        case Code::ttl_too_long:
        case Code::not_holder:
        case Code::renewal_barred:
        case Code::not_banned:
        case Code::nothing_to_start:
        case Code::spawn_not_allowed:
        case Code::backend_id_taken:
        case Code::unknown_key:
        case Code::unknown_backend:
        case Code::unknown_drone:
        case Code::name_denied:
        case Code::bad_signature:
        case Code::invalid_identity:
        case Code::clock_apart:
        case Code::invalid_name:
        case Code::invalid_alpn:
        case Code::invalid_metadata:
        case Code::unknown_service:
        case Code::reserved_namespace:
        case Code::service_lease:
        case Code::invalid_json:
        case Code::unknown_field:
        case Code::invalid_argument:
        case Code::invalid_policy:
        case Code::bad_request:
        case Code::origin_refused:
        case Code::not_found:
        case Code::not_clustered:
        case Code::method_not_allowed:
        case Code::body_too_large:
        case Code::header_too_large:
        case Code::answer_too_large:
        case Code::unauthenticated:
        case Code::forbidden:
        case Code::unknown_principal:
        case Code::principal_exists:
        case Code::unknown_role:
        case Code::role_fixed:
        case Code::role_in_use:
        case Code::unknown_api_token:
        case Code::unknown_mapping:
        case Code::mapping_taken:
        case Code::no_admin:
            break;
        default:  // no server answers with it
            break;
    }
    return exit_refused;
}

int exit_code_of(const ErrorCode& error_code, int status) {
    if (const auto code = error_code.known()) return exit_code_of(*code);
    return says_later(status) ? exit_not_now : exit_refused;
}

int worst_of(int one, int other) {
    if (one == exit_not_now && other != exit_ok) return other;
    if (other == exit_not_now && one != exit_ok) return one;
    return std::max(one, other);
}

}  // namespace holdfast::cli
