#pragma once

#include <cstdint>

namespace holdfast::store::cas {

/// Requests of all servers meet in the queues of records, so their numbers differ: the upper 24 bits name the server's
/// incarnation, the lower 40 bits count its requests. 2^40 requests of one incarnation are years at full speed, and
/// every waiter is gone long before an origin is used again.
inline constexpr int request_count_bits = 40;
inline constexpr std::uint64_t max_request_origin = (std::uint64_t{1} << (64 - request_count_bits)) - 1;

/// REQUIRES: origin <= max_request_origin.
constexpr std::uint64_t first_request_of(std::uint64_t origin) {
    return origin << request_count_bits | 1U;
}

constexpr std::uint64_t request_origin(std::uint64_t request) {
    return request >> request_count_bits;
}

}  // namespace holdfast::store::cas
