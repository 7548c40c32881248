#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::core {

/// How far a backend has come. States only move forward (K5).
enum class BackendState : std::uint8_t {
    scheduled,  ///< its key is taken, its drone has not said anything of it yet
    loading,
    starting,
    waiting,  ///< runs, and is not ready yet
    ready,
    terminating,
    hard_terminating,
    terminated,
};
inline constexpr std::size_t backend_state_count = static_cast<std::size_t>(BackendState::terminated) + 1;
std::string_view to_string(BackendState state);
std::optional<BackendState> parse_backend_state(std::string_view text);

/// Why a backend ends or has ended.
enum class EndReason : std::uint8_t {
    exited,
    terminated,
    key_lost,
    drone_lost,
    start_timed_out,
    idle,
    lifetime,
    internal,
};
std::string_view to_string(EndReason reason);
std::optional<EndReason> parse_end_reason(std::string_view text);

}  // namespace holdfast::core
