#pragma once

#include <cstddef>

#include "base/time.h"
#include "lease/limits.h"

namespace holdfast::core::limits {

/// Of the key system. What goes over one is answered with an error.
inline constexpr std::size_t key_name_bytes = 1024;
inline constexpr std::size_t key_tag_bytes = 256;
inline constexpr std::size_t backend_id_bytes = 128;  ///< a backend's id is the session of its key's lease
inline constexpr std::size_t pool_bytes = 64;
inline constexpr std::size_t address_bytes = 256;
inline constexpr std::size_t user_bytes = 256;
inline constexpr std::size_t life_bytes = 64;

inline constexpr std::size_t spawn_arguments = 256;
inline constexpr std::size_t spawn_variables = 256;
inline constexpr std::size_t spawn_bytes = 64 * 1024;  ///< of command, arguments, environment and all else together

inline constexpr std::size_t drones = 10'000;
inline constexpr std::size_t earlier_lives = 16;  ///< of one drone: those that are known to be over
inline constexpr std::size_t backends = 200'000;  ///< those that have ended included
inline constexpr std::size_t ended_backends = 20'000;
inline constexpr std::size_t backends_per_heartbeat = 500;             ///< a server reads 10,000 JSON values at most
inline constexpr std::size_t drone_capacity = backends_per_heartbeat;  ///< all that a drone has is in one heartbeat
inline constexpr std::size_t orders_per_drone = 1'000;
inline constexpr std::size_t orders_per_answer = 32;
inline constexpr std::size_t order_bytes_per_answer = 512 * 1024;
inline constexpr std::size_t connects = 10'000;  ///< that are being answered or wait
inline constexpr std::size_t key_looks = 100;    ///< at the store at a time, after keys whose drone is silent
inline constexpr std::size_t backends_per_page_looked_at = 10'000;
inline constexpr std::size_t unreported_looked_at = 1'000;  ///< keys, for backends that no drone has told of
inline constexpr unsigned connect_tries = 5;

inline constexpr Duration heartbeat_every = 7s;
inline constexpr Duration drone_late = 10s;     ///< it speaks every 7 s or sooner; longer, and its keys are looked at
inline constexpr Duration drone_silence = 45s;  ///< longer, and a drone is not healthy
inline constexpr Duration backend_kept = 5min;  ///< how long one that has ended stays answerable
inline constexpr Duration orders_wait = 20s;
inline constexpr Duration connect_wait = 5min;

}  // namespace holdfast::core::limits
