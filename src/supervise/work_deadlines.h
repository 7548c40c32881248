#pragma once

#include "base/time.h"

namespace holdfast {

/// When the work under a lease must stop, on the holder's own clock (T4): asked to at `soft`, dead by `hard`. Keeper
/// and guardian run on one machine and read the same CLOCK_BOOTTIME, so here, and only here, processes may exchange
/// instants.
struct WorkDeadlines {
    HolderInstant soft;
    HolderInstant hard;
};

}  // namespace holdfast
