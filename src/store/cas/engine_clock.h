#pragma once

#include "base/time.h"
#include "store/cas/engine.h"

namespace holdfast::store::cas {

/// The bounds of the engine's clock less this machine's, each counted from its own start, at an instant.
struct ClockOffset {
    Instant at;
    Duration low{};
    Duration high{};

    bool operator==(const ClockOffset&) const = default;
};

/// Bounds on the engine's time, from its answers: when a request was sent and its answer arrived, on this machine's
/// clock, and the engine's time in between. Instants of the two clocks are never compared; only the bounds of their
/// difference are known (T1).
class EngineClockBounds {
 public:
    struct Sample {
        Instant sent;
        Instant received;
        EngineTime engine;
    };
    /// Returns how far the engine's clock has stepped ahead of its possible range, if that is more than holders allow
    /// for (T3): by one step, or by several that come faster than leases end. Otherwise zero. Steps back, and small
    /// ones, are accepted. The size of a step is known except for the round-trip times of the samples before and after
    /// it.
    Duration add(const Sample& sample);

    /// Starts with bounds known earlier, on the same clock of this machine.
    void resume(const ClockOffset& offset);
    /// REQUIRES: there was a sample.
    ClockOffset offset() const { return {at_, low_, high_}; }

    /// True if the bounds are narrow and fresh enough to decide by.
    bool usable(Instant now) const;

    /// The latest and the earliest possible time at the engine. REQUIRES: there was a sample.
    EngineTime latest(Instant now) const;
    EngineTime earliest(Instant now) const;
    /// The instant on this machine's clock from which the engine is certainly past this time. REQUIRES: there was a
    /// sample.
    Instant surely_past(EngineTime time) const;

    bool known() const { return known_; }
    Instant last_sample() const { return received_; }
    void forget() { known_ = false; }

 private:
    bool known_ = false;
    Instant at_;      ///< when the bounds held
    Duration low_{};  ///< of the engine's clock less this one, from the start of each
    Duration high_{};
    Instant received_;    ///< the last sample
    Duration stepped_{};  ///< ahead, by small steps, less what leases allow for meanwhile
};

}  // namespace holdfast::store::cas
