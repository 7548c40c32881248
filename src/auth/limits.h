#pragma once

#include <cstddef>

#include "base/time.h"

namespace holdfast::auth::limits {

inline constexpr std::size_t name_bytes = 64;  ///< of a principal or a role
inline constexpr std::size_t prefix_bytes = 1024;
inline constexpr std::size_t holder_pattern_bytes = 256;
inline constexpr std::size_t certificate_pattern_bytes = 512;

// The rights of a principal are searched for each request, so these bound its work.
inline constexpr std::size_t holders_per_grant = 8;
inline constexpr std::size_t grants_per_role = 32;
inline constexpr std::size_t roles_per_principal = 16;

inline constexpr std::size_t principals = 5000;
inline constexpr std::size_t roles = 500;  ///< besides the built-in ones
inline constexpr std::size_t mappings = 5000;
inline constexpr std::size_t state_bytes = 768 * 1024;  ///< of all of these in a snapshot

inline constexpr std::size_t valid_api_tokens = 2;  ///< of a principal
inline constexpr std::size_t ended_api_tokens =
    2;  ///< of a principal: those that ended last, so that a refusal is explained

/// How long the former API token may stay valid beside the new one.
inline constexpr Duration rotation_overlap = 90 * 24h;

}  // namespace holdfast::auth::limits
