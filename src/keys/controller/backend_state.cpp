#include "keys/controller/backend_state.h"

namespace holdfast::core {
namespace {

constexpr std::array<std::string_view, backend_state_count> states{
    "scheduled", "loading", "starting", "waiting", "ready", "terminating", "hard_terminating", "terminated"};
constexpr std::array<std::string_view, 8> reasons{"exited",          "terminated", "key_lost", "drone_lost",
                                                  "start_timed_out", "idle",       "lifetime", "internal"};

template <class Value, std::size_t size>
std::optional<Value> find(const std::array<std::string_view, size>& names, std::string_view text) {
    for (std::size_t i = 0; i < size; ++i)
        if (names[i] == text) return static_cast<Value>(i);
    return std::nullopt;
}

}  // namespace

std::string_view to_string(BackendState state) {
    return states[static_cast<std::size_t>(state)];
}

std::optional<BackendState> parse_backend_state(std::string_view text) {
    return find<BackendState>(states, text);
}

std::string_view to_string(EndReason reason) {
    return reasons[static_cast<std::size_t>(reason)];
}

std::optional<EndReason> parse_end_reason(std::string_view text) {
    return find<EndReason>(reasons, text);
}

}  // namespace holdfast::core
