#pragma once

#include <optional>

#include "base/time.h"
#include "store/cas/engine.h"

namespace holdfast::postgres {

/// What is known about the engine's clock from its replies.
class ServerClock {
 public:
    /// A reply received at `received` reported the time `now`.
    void observe(core::EngineTime now, Instant received);

    /// The engine's time after `wait` from now, or somewhat earlier, never later; the maximum if no reply was observed.
    core::EngineTime not_after(Instant now, Duration wait) const;

    /// True if it has run at the rate of this machine's clock, without a step, for at least `span`.
    bool is_even_for(Duration span, Instant now) const;

 private:
    std::optional<Duration> ahead_;  ///< of this machine's clock, at least
    Instant even_since_;
};

}  // namespace holdfast::postgres
