#pragma once

#include "base/time.h"
#include "store/engine/engine.h"

namespace holdfast::core {

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
    /// How far the engine's clock is ahead of where it can have come to since the last sample; zero if it is not. Steps
    /// back, and small ones, are taken as they come.
    Duration add(const Sample& sample);

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
    Instant received_;  ///< the last sample
};

}  // namespace holdfast::core
