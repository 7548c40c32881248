#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast::inline base {

using namespace std::chrono_literals;

/// Time as the core sees it. There is no now(): the caller passes the time.
struct StoreClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<StoreClock>;
    static constexpr bool is_steady = true;
};
using Duration = StoreClock::duration;   ///< may travel in messages
using Instant = StoreClock::time_point;  ///< never leaves its store (T1)

/// The holder's own clock. A type of its own, so that the compiler refuses to compare it with a store's instant (T1).
struct HolderClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<HolderClock>;
    static constexpr bool is_steady = true;
};
using HolderInstant = HolderClock::time_point;

/// Whole milliseconds, rounded down, for JSON and for display. So the time left of a lease is never overstated.
constexpr std::int64_t to_ms(Duration duration) {
    return std::chrono::floor<std::chrono::milliseconds>(duration).count();
}

/// Whole milliseconds, rounded up: how long to wait until something has passed.
constexpr std::int64_t to_ms_up(Duration duration) {
    return std::chrono::ceil<std::chrono::milliseconds>(duration).count();
}

}  // namespace holdfast::inline base
