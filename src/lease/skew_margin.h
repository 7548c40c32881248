#pragma once

#include <algorithm>

#include "base/time.h"

namespace holdfast::lease {

/// How much earlier than the authority a holder considers its lease over (T3).
inline Duration skew_margin(Duration ttl) {
    return std::max<Duration>(ttl / 100, 50ms);
}

/// The largest error of a clock's rate, unless configured otherwise.
inline constexpr double default_rho = 0.01;

/// The part of a wait on the authority's clock that has certainly passed on the holder's clock, if the rate of each may
/// be wrong by `rho` (T3).
inline Duration surely_waited(Duration waited, double rho) {
    return Duration{static_cast<Duration::rep>(static_cast<double>(waited.count()) * (1 - rho) / (1 + rho))};
}

}  // namespace holdfast::lease
