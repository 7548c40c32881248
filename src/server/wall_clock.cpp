#include "server/wall_clock.h"

#include <limits>

#include "base/time.h"

namespace holdfast {

Result<void> check_wall_clock(std::int64_t wall_ms) {
    constexpr std::int64_t max_ms = std::numeric_limits<Duration::rep>::max() / 1'000'000;
    if (wall_ms >= 0 && wall_ms < max_ms) return {};
    return Error{"clock_unusable",
                 "the clock of this machine is " + std::to_string(wall_ms / 1000) +
                     " s from 1970, and must be between 1970 and April 2262: set it, then start again"};
}

}  // namespace holdfast
