#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace holdfast::lease::limits {

/// Every quantity has a limit. Exceeding one is answered with an error; nothing is truncated.
inline constexpr std::size_t resource_bytes = 4096;
inline constexpr std::size_t holder_bytes = 256;
inline constexpr std::size_t session_bytes = 256;
inline constexpr std::size_t namespace_bytes = 64;
inline constexpr std::size_t reason_bytes = 1024;
inline constexpr std::size_t metadata_bytes = 8192;
inline constexpr std::size_t idempotency_key_bytes = 256;
inline constexpr std::size_t pattern_bytes = 1024;
inline constexpr std::size_t page_bytes = 256 * 1024;   ///< a page of a listing ends after this many
inline constexpr std::size_t cursor_bytes = 16 * 1024;  ///< of a listing's cursor; may contain an encoded name

inline constexpr std::size_t intents_per_manifest = 256;  // G1
inline constexpr std::size_t leases_per_request = 1000;
inline constexpr std::size_t leases_per_heartbeat = 10'000;  ///< of a heartbeat without names: all of the holder's
/// Total bytes of the names of these leases. The answer repeats each name, and 10,000 long names would stall other
/// requests.
inline constexpr std::size_t name_bytes_per_heartbeat = 2 * 1024 * 1024;
/// Total bytes of the leases in the answer to a verification of several leases. A resource may have thousands of
/// holders, and a small request must not cause a huge answer.
inline constexpr std::size_t verified_bytes = 1024 * 1024;
inline constexpr std::size_t verified_bytes_of_holder = 8 * 1024 * 1024;  ///< for all of a holder's
inline constexpr std::size_t leases_per_record = 4096;
inline constexpr std::size_t obstacles = 10'000;  ///< conflicts, and records searched for them, per claim
inline constexpr std::size_t waiters_per_record = 1024;
inline constexpr std::size_t waiters = 100'000;
inline constexpr std::size_t bans = 100'000;
inline constexpr std::size_t approvals = 100'000;
inline constexpr std::size_t name_rules = 10'000;
inline constexpr std::size_t policy_namespaces = 1000;  ///< namespaces with a policy of their own
inline constexpr std::size_t agents = 100'000;

/// The number of conflicts that an answer lists per record and per manifest. The others count just as much, but a small
/// request must not cause a huge answer.
inline constexpr std::size_t named_per_record = 100;
inline constexpr std::size_t named_per_manifest = 256;

/// How long an ended lease stays in the history (R3), and the number of such entries per record. A lock that changes
/// hands a thousand times a second must not carry five minutes of history in its record.
inline constexpr Duration ended_kept = 5min;
inline constexpr std::size_t ended_per_record = 32;

inline constexpr std::size_t past_holdings_per_record = 64;  ///< R6: holders per record whose holding time is kept

inline constexpr Duration grace = 15s;      ///< R5
inline constexpr Duration agent_kept = 1h;  ///< an agent not seen for this long may be dropped for a new one
inline constexpr std::uint64_t epoch_ceiling = 1ULL << 53;  ///< as for tokens

inline constexpr std::int64_t wall_ms_ceiling = 1LL << 47;  ///< for Lease::acquired_wall_ms: about 4,400 years
inline constexpr Duration ttl_ceiling = 24h;                ///< no policy may allow more
inline constexpr Duration wait_ceiling = 1h;
inline constexpr Duration quota_ceiling = 365 * 24h;

}  // namespace holdfast::lease::limits
