#pragma once

#include <algorithm>

#include "base/time.h"

namespace holdfast {

/// How much sooner than the authority a holder takes its lease to be over (T3).
inline Duration skew_margin(Duration ttl) {
    return std::max<Duration>(ttl / 100, 50ms);
}

}  // namespace holdfast
