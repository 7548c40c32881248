#pragma once

#include <cstddef>

#include "base/time.h"
#include "lease/limits.h"

namespace holdfast::keys::limits {

/// Limits of the key system. Exceeding one is answered with an error, except where only the past is remembered
/// (earlier_lives, ended_backends): there the oldest is dropped.
inline constexpr std::size_t key_name_bytes = 1024;
inline constexpr std::size_t key_tag_bytes = 256;
inline constexpr std::size_t backend_id_bytes = 128;  ///< a backend's id is the session of its key's lease
inline constexpr std::size_t pool_bytes = 64;
inline constexpr std::size_t address_bytes = 256;
inline constexpr std::size_t user_bytes = 256;
inline constexpr std::size_t life_bytes = 64;

inline constexpr std::size_t spawn_arguments = 256;
inline constexpr std::size_t spawn_variables = 256;
inline constexpr std::size_t spawn_bytes = 64 * 1024;  ///< sum of command, arguments, environment and the rest

inline constexpr std::size_t drones = 10'000;
inline constexpr std::size_t earlier_lives = 16;  ///< of one drone: incarnations known to be over
inline constexpr std::size_t backends = 200'000;  ///< including those that have ended
inline constexpr std::size_t ended_backends = 20'000;
inline constexpr std::size_t backends_per_heartbeat = 500;             ///< a server reads 10,000 JSON values at most
inline constexpr std::size_t drone_capacity = backends_per_heartbeat;  ///< one heartbeat can report all of them
inline constexpr std::size_t orders_per_drone = 1'000;
inline constexpr std::size_t orders_per_answer = 32;
inline constexpr std::size_t order_bytes_per_answer = 512 * 1024;
inline constexpr std::size_t connects = 10'000;  ///< in progress or waiting
inline constexpr std::size_t key_looks = 100;    ///< concurrent store reads for keys whose drone is silent
inline constexpr std::size_t backends_per_page_looked_at = 10'000;
inline constexpr std::size_t unreported_looked_at = 1'000;  ///< keys read to find backends that no drone has reported
inline constexpr unsigned connect_tries = 5;

inline constexpr Duration heartbeat_every = 7s;
inline constexpr Duration drone_late = 10s;     ///< heartbeats come every 7 s; after this, its keys are checked
inline constexpr Duration drone_silence = 45s;  ///< after this, a drone is not healthy
inline constexpr Duration backend_kept = 5min;  ///< how long an ended backend can still be queried
inline constexpr Duration orders_wait = 20s;
inline constexpr Duration connect_wait = 5min;

}  // namespace holdfast::keys::limits
