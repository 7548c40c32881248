#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::inline base {

/// The reasons for refusals and failures: stable names that programs may match. Those that a server answers with are
/// listed in docs/http-api.md.
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
    // No server answers a request with these: failures of a client, of a stream through a relay, of files, at start-up.
    unreachable,
    not_holdfast,
    bad_answer,
    malformed,
    refused,
    elsewhere,
    not_connected,
    no_answer,
    too_many_streams,
    too_many_calls,
    too_many_publishers,
    unknown_ticket,
    stream_broken,
    lost,
    already_started,
    no_thread,
    stopped,
    invalid_session,
    too_many_sessions,
    not_preferred,
    too_many_nodes,
    digest_damaged,
    digest_in_use,
    digest_version,
    identity_corrupt,
    identity_exists,
    identity_exposed,
    identity_missing,
    identity_not_saved,
    state_unusable,
    state_corrupt,
    state_in_use,
    state_too_new,
    state_too_old,
    other_owner,
    members_differ,
    store_lost,
    store_format,
    conflict,
    too_large,
    too_many,
    clock_unusable,
    insecure_address,
    cannot_listen,
    tls_unusable,
    no_pump,
    no_secret,
    short_secret,
    long_secret,
    exposed_secret,
    cannot_run,
    no_port,
    port_in_use,
    backend_ended,
    start_timed_out,
    no_git,
    no_repository,
    git_failed,
    hook_exists,
};
/// The codes that a server answers with come first.
inline constexpr std::size_t answer_code_count = static_cast<std::size_t>(Code::auth_full) + 1;
inline constexpr std::size_t code_count = static_cast<std::size_t>(Code::hook_exists) + 1;

constexpr bool is_answer_code(Code code) {
    return static_cast<std::size_t>(code) < answer_code_count;
}

/// The name a program matches, such as `not_holder`.
std::string_view name_of(Code code);
/// Returns nullopt if no code has this name.
std::optional<Code> code_in(std::string_view name);

/// What happened and what to do next, for people. Empty for a code that no server answers with: its error says more.
std::string_view advice_of(Code code);

/// A code, or the name of one that only a newer peer knows: it is shown and passed on as it came.
class ErrorCode {
 public:
    static constexpr std::size_t max_bytes = 64;

    ErrorCode() = default;  ///< without a name, as of an answer that states none
    ErrorCode(Code code) : known_(code) {}
    /// A longer name is cut to max_bytes.
    static ErrorCode named(std::string_view name);

    std::string_view name() const { return known_ ? name_of(*known_) : std::string_view(foreign_); }
    std::optional<Code> known() const { return known_; }

    friend bool operator==(const ErrorCode&, const ErrorCode&) = default;
    friend bool operator==(const ErrorCode& one, Code other) { return one.known_ == other; }
    friend std::ostream& operator<<(std::ostream& out, const ErrorCode& code);

 private:
    std::optional<Code> known_;
    std::string foreign_;
};

}  // namespace holdfast::inline base
