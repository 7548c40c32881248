#pragma once

#include <limits>

#include "base/assert.h"
#include "base/time.h"

/// The simulator: the shipped quorum, authority and rules in one process, in simulated time.
namespace holdfast::sim {}
namespace holdfast::sim {
/// The time of the simulated world. Nodes and holders cannot read it; they have clocks of their own (T1). It is for the
/// event queue and for the checkers.
struct TrueClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<TrueClock>;
    static constexpr bool is_steady = true;
};
using TrueInstant = TrueClock::time_point;  ///< zero is the beginning of the world

inline constexpr Duration max_world = 2h;  ///< no world lasts longer

/// A clock that is set to anything and runs too fast or too slow by a constant rate.
class SimClock {
 public:
    struct Setting {
        Duration offset{};
        std::int64_t ppm = 0;  ///< how much too fast, in millionths
    };
    SimClock() = default;
    explicit SimClock(Setting setting) : setting_(setting) {
        HOLDFAST_ASSERT(setting.ppm > -500'000 && setting.ppm < 500'000);
    }

    /// The time it shows.
    Duration reading(TrueInstant at) const {
        const Duration passed = at.time_since_epoch();
        return setting_.offset + passed + passed * setting_.ppm / million;
    }

    /// The first instant at which it shows this; the far future if that is beyond every world.
    TrueInstant when(Duration reading) const {
        if (reading >= setting_.offset + max_world) return TrueInstant::max();
        if (reading <= setting_.offset) return TrueInstant{};
        TrueInstant at{(reading - setting_.offset) * million / (million + setting_.ppm)};
        while (this->reading(at) < reading)
            at += 1ns;
        return at;
    }

    const Setting& setting() const { return setting_; }

 private:
    static constexpr std::int64_t million = 1'000'000;
    Setting setting_;
};

}  // namespace holdfast::sim
