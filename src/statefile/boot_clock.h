#pragma once

#include <string>

#include "base/time.h"

namespace holdfast {

/// A reading of the store's clock, with the name of the clock that was read. Instants of an earlier incarnation are
/// valid only on the very same clock (T1): that of this boot, in this time namespace.
struct ClockReading {
    std::string clock;
    Instant now;
};

ClockReading read_boot_clock();

}  // namespace holdfast
