#pragma once

#include <optional>

#include "base/time.h"
#include "store/cas/engine.h"

namespace holdfast::postgres {

/// What is known of the engine's clock by its answers.
class ServerClock {
 public:
    /// An answer that was received at `received` said that it was `now`.
    void observe(core::EngineTime now, Instant received);

    /// Not later than this time from now on, on the engine's clock; the end of time if it has never been heard of.
    core::EngineTime not_after(Instant now, Duration wait) const;

    /// True if it has run as fast as ours, without a step, for so long.
    bool is_even_for(Duration span, Instant now) const;

 private:
    std::optional<Duration> ahead_;  ///< of ours, at least
    Instant even_since_;
};

}  // namespace holdfast::postgres
