#pragma once

#include <algorithm>

#include "base/mutant.h"
#include "base/time.h"

namespace holdfast {

/// How much sooner than the authority a holder takes its lease to be over (T3).
inline Duration skew_margin(Duration ttl) {
    return std::max<Duration>(ttl / 100, 50ms);
}

namespace core {
/// How far the rate of a clock may be wrong, unless somebody knows better.
inline constexpr double default_rho = 0.01;
}  // namespace core

/// How much of a wait, by the authority's clock, has surely passed on the holder's, if the rate of either may be wrong
/// by `rho` (T3).
inline Duration surely_waited(Duration waited, double rho) {
    if (mutant("rho_dropped")) return waited;
    return Duration{static_cast<Duration::rep>(static_cast<double>(waited.count()) * (1 - rho) / (1 + rho))};
}

}  // namespace holdfast
