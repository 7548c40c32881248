#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace holdfast::core::limits {

/// A limit on everything. What goes over one is answered with an error, never truncated.
inline constexpr std::size_t resource_bytes = 4096;
inline constexpr std::size_t holder_bytes = 256;
inline constexpr std::size_t session_bytes = 256;
inline constexpr std::size_t namespace_bytes = 64;
inline constexpr std::size_t reason_bytes = 1024;
inline constexpr std::size_t metadata_bytes = 8192;
inline constexpr std::size_t idempotency_key_bytes = 256;
inline constexpr std::size_t pattern_bytes = 1024;
inline constexpr std::size_t cursor_bytes = 16 * 1024;  ///< of where a listing goes on: it may name a resource, encoded

inline constexpr std::size_t intents_per_manifest = 256;  // G1
inline constexpr std::size_t leases_per_request = 1000;
inline constexpr std::size_t leases_per_heartbeat = 10'000;  ///< of a heartbeat that names none: all of the holder's
/// Of the names of these leases: an answer repeats each name, and 10,000 long ones would stall everybody else.
inline constexpr std::size_t name_bytes_per_heartbeat = 2 * 1024 * 1024;
/// Of the leases that the answer to a verification tells of, if it is about several: one may be about a resource with
/// thousands of holders, and a small question must not have a huge answer.
inline constexpr std::size_t verified_bytes = 1024 * 1024;
inline constexpr std::size_t verified_bytes_of_holder = 8 * 1024 * 1024;  ///< of one about all of a holder's
inline constexpr std::size_t leases_per_record = 4096;
inline constexpr std::size_t obstacles =
    10'000;  ///< how many in the way of one claim are looked at, in how many records
inline constexpr std::size_t waiters_per_record = 1024;
inline constexpr std::size_t waiters = 100'000;
inline constexpr std::size_t bans = 100'000;
inline constexpr std::size_t approvals = 100'000;
inline constexpr std::size_t name_rules = 10'000;
inline constexpr std::size_t agents = 100'000;

/// How many holders of one record an answer names, and how many of all records of a manifest: the rest is as much in
/// the way, but a small question must not have a huge answer.
inline constexpr std::size_t named_per_record = 100;
inline constexpr std::size_t named_per_manifest = 256;

/// How long an ended lease stays answerable (R3), and how many of one record do: a lock that changes hands a thousand
/// times a second must not carry five minutes of history in its record.
inline constexpr Duration ended_kept = 5min;
inline constexpr std::size_t ended_per_record = 32;

inline constexpr std::size_t past_holdings_per_record = 64;  ///< R6: how many holders a record remembers the time of

inline constexpr Duration grace = 15s;                      ///< R5
inline constexpr Duration agent_kept = 1h;                  ///< unseen for so long, an agent makes room for another
inline constexpr std::uint64_t epoch_ceiling = 1ULL << 53;  ///< as for tokens

inline constexpr std::int64_t wall_ms_ceiling = 1LL << 47;  ///< of a lease's date (lease.h): 4,400 years
inline constexpr Duration ttl_ceiling = 24h;                ///< no policy may allow more
inline constexpr Duration wait_ceiling = 1h;
inline constexpr Duration quota_ceiling = 365 * 24h;

}  // namespace holdfast::core::limits
