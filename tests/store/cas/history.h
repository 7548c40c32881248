#pragma once

#include <optional>
#include <string>

#include "store/cas/sim_fronts.h"

namespace holdfast::store::cas {

/// What a history of random requests, lost calls, crashes and steps of the clock came to.
struct HistoryReport {
    std::optional<std::string> violation;
    std::size_t grants = 0;
    std::size_t renewals = 0;
    std::size_t releases = 0;
    std::size_t unknown = 0;  ///< requests that were given up
    std::size_t crashes = 0;
    std::size_t steps_noticed = 0;
    std::size_t served = 0;  ///< waiters who had their turn
};

struct HistoryShape {
    std::uint64_t seed = 0;
    std::size_t fronts = 2;
    std::size_t steps = 300;
    bool paths = false;        ///< files and trees that overlap
    bool clock_steps = false;  ///< the engine's clock jumps
};
HistoryReport run_history(const HistoryShape& shape);

}  // namespace holdfast::store::cas
