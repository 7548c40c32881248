#pragma once

#include "base/time.h"
#include "store/cas/engine.h"

namespace holdfast::core {

/// Between which bounds the engine's clock was ahead of this machine's, each counted from its own start, at an instant.
struct ClockOffset {
    Instant at;
    Duration low{};
    Duration high{};

    bool operator==(const ClockOffset&) const = default;
};

/// What this front knows of the engine's time, from its answers: when a question was sent and its answer came, on this
/// machine's clock, and what time it was at the engine in between. Instants of the two clocks are never compared: what
/// is known is between which bounds their difference lies (T1).
class EngineClockBounds {
 public:
    struct Sample {
        Instant sent;
        Instant received;
        EngineTime engine;
    };
    /// How far the engine's clock has stepped ahead of where it can have come to, if that is more than holders allow
    /// for (T3): by one step, or by several that come faster than leases end. Else zero. Steps back, and small ones,
    /// are taken as they come. A step is known but for the time from sending to receipt of the samples before and after
    /// it.
    Duration add(const Sample& sample);

    /// Begins with what was known earlier, on the same clock of this machine.
    void resume(const ClockOffset& offset);
    /// REQUIRES: there was a sample.
    ClockOffset offset() const { return {at_, low_, high_}; }

    /// True if the bounds are narrow and fresh enough to decide by.
    bool usable(Instant now) const;

    /// The latest that it can be at the engine, and the earliest. REQUIRES: there was a sample.
    EngineTime latest(Instant now) const;
    EngineTime earliest(Instant now) const;
    /// From when on, on this machine's clock, the engine is past this time for certain. REQUIRES: there was a sample.
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

}  // namespace holdfast::core
