#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer.h"

namespace holdfast::bench {

/// Leases that end evenly spread over `span`, the first of them `first` from now.
struct EndOver {
    std::uint32_t count = 0;
    Milliseconds first{0};
    Milliseconds span{0};
};

struct Lateness {
    std::uint32_t seen = 0;
    std::uint32_t early = 0;        ///< before `asked` + ttl
    std::vector<double> late_us{};  ///< sorted; beyond `answered` + ttl
    std::string way{};
};

/// Acquires leases and watches them end, with numbers that no set before had: the end of an old lease is not to be
/// taken for that of a new one. Gives up `answer_limit` after the last should have ended; those that were not seen by
/// then are late by as much as they were then. Throws what the peer throws.
Lateness watch_them_end(Peer& peer, const EndOver& wanted);

}  // namespace holdfast::bench
