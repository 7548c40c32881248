#pragma once

#include <string>

#include "base/time.h"

namespace holdfast::inline base {

/// The operating system's clocks. Only the shell (doors, server, client, supervise) may read them; the core gets the
/// time as an argument. Both run on CLOCK_BOOTTIME, which counts suspend and never steps (T3).
Instant store_clock_now();
HolderInstant holder_clock_now();

/// The wall clock in milliseconds since 1970. For display and for the first token only (G3): it may jump.
std::int64_t wall_clock_ms();

/// The wall-clock time of an instant of the store's clock, in milliseconds since 1970. For display only. The same
/// instant always gives the same time, until the wall clock is set.
std::int64_t shown_wall_ms(Instant instant);

/// A reading of the store's clock, with the name of the clock that was read. Instants of an earlier incarnation are
/// valid only on the very same clock (T1): that of this boot, in this time namespace.
struct ClockReading {
    std::string clock;
    Instant now;
};

ClockReading read_boot_clock();

}  // namespace holdfast::inline base
