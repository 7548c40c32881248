#pragma once

#include <cstddef>

#include "base/time.h"

namespace holdfast::discovery::directory::limits {

inline constexpr std::size_t service_name_bytes = 255;
/// The part of a name pattern after its first `*`. It is matched repeatedly: against every name, and for each watcher.
inline constexpr std::size_t service_glob_tail_bytes = 64;
inline constexpr std::size_t service_address_bytes = 261;  ///< a host name and a port
inline constexpr std::size_t alpn_names = 16;
inline constexpr std::size_t alpn_name_bytes = 255;
inline constexpr std::size_t service_metadata_pairs = 64;
inline constexpr std::size_t service_metadata_key_bytes = 128;
inline constexpr std::size_t service_metadata_bytes = 4096;

inline constexpr std::size_t services = 100'000;
inline constexpr std::size_t services_per_connection = 1'000;
inline constexpr std::size_t service_watchers = 1'000;
inline constexpr std::size_t verifiers = 20'000;
inline constexpr std::size_t nonces_per_generation = 2'000'000;
inline constexpr std::size_t applicants = 1'000;

inline constexpr Duration service_ttl = 30s;         ///< the default
inline constexpr Duration service_renew_every = 5s;  ///< or a sixth of the TTL, if that is less
inline constexpr Duration silence_least = 5s;        ///< the minimum before a publisher counts as silent
inline constexpr Duration clock_window = 60s;        ///< how far a publisher may misjudge the relay's clock
inline constexpr Duration applicant_kept = 1h;
inline constexpr Duration stand_by = 10s;  ///< the retry interval of a publisher on stand-by
/// When several publishers may retry, each does so at a random time within this long per publisher, to avoid a burst.
inline constexpr Duration retry_spread_each = 1ms;
inline constexpr Duration max_retry_spread = 10s;

}  // namespace holdfast::discovery::directory::limits
