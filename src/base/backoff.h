#pragma once

#include <algorithm>

#include "base/random.h"
#include "base/time.h"

namespace holdfast::inline base {

/// The pause before the next attempt: doubles with each failure, from `first` to `max`.
class Backoff {
 public:
    struct Limits {
        Duration first;
        Duration max;
    };
    /// REQUIRES: 0 < first <= max.
    constexpr explicit Backoff(Limits limits) : limits_(limits), next_(limits.first) {}

    constexpr Duration next() {
        const Duration pause = next_;
        next_ = pause > limits_.max / 2 ? limits_.max : pause * 2;
        ++failures_;
        return pause;
    }

    /// With jitter: from the upper half of the pause, so that those that failed together do not try again together.
    Duration next(Random& random) { return std::chrono::duration_cast<Duration>(next() * (0.5 + random.unit() / 2)); }

    /// The failures since the last success.
    constexpr unsigned failures() const { return failures_; }

    /// After a success.
    constexpr void reset() {
        next_ = limits_.first;
        failures_ = 0;
    }

 private:
    Limits limits_;
    Duration next_;
    unsigned failures_ = 0;
};

}  // namespace holdfast::inline base
