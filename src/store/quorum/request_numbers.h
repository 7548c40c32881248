#pragma once

#include <cstdint>

#include "store/quorum/ballot.h"

namespace holdfast::core {

/// The numbers that the requests of one life of a node begin with. Those of all nodes, and of all lives of a node,
/// differ: they meet in the queues of records. 2^40 requests in a life are years at full speed, and whoever waits is
/// gone long before 2^16 lives have passed.
constexpr std::uint64_t first_request(NodeIndex node, BootNumber boot) {
    return std::uint64_t{node} << 56 | std::uint64_t{boot & 0xffffU} << 40 | 1U;
}

/// Whose request it is.
struct RequestOrigin {
    NodeIndex node = 0;
    std::uint16_t boot = 0;  ///< the last 16 bits of it; zero: not known

    bool is_of(BootNumber life) const { return boot == 0 || boot == (life & 0xffffU); }
};
constexpr RequestOrigin origin_of(std::uint64_t request) {
    return {static_cast<NodeIndex>(request >> 56), static_cast<std::uint16_t>(request >> 40)};
}

}  // namespace holdfast::core
