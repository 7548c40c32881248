#pragma once

#include <optional>
#include <string>

#include "store/quorum/cluster.h"

namespace holdfast::store::quorum {

/// What a history of random requests, lost messages and crashes came to.
struct HistoryReport {
    std::optional<std::string> violation;
    std::size_t grants = 0;
    std::size_t renewals = 0;
    std::size_t releases = 0;
    std::size_t unknown = 0;  ///< requests that were given up
    std::size_t crashes = 0;
};

struct HistoryShape {
    std::uint64_t seed = 0;
    std::uint8_t members = 3;
    std::size_t steps = 400;
    bool crashes = true;
    bool paths = false;  ///< files and trees that overlap
};

/// Runs it and checks after each step, by the holders' own clocks, which differ in rate as far as is allowed: no two
/// incompatible leases are usable at once, tokens rise, what was released stays released.
HistoryReport run_history(const HistoryShape& shape);

}  // namespace holdfast::store::quorum
