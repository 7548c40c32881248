#pragma once

#include "base/time.h"

namespace holdfast {

/// Lets one thread sleep until an instant, or until another thread rings. Counts suspend, as the
/// clock does: after a resume it goes off at once and not later by the time slept, which a condition variable would.
class Wakeup {
 public:
    Wakeup();
    ~Wakeup();
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    /// Ends the sleep that is under way, or the next one. From any thread.
    void ring();

    /// May also return early without a reason. The clock's max() sleeps until it rings.
    void sleep_until(HolderInstant instant) { sleep_until(instant.time_since_epoch()); }
    void sleep_until(Instant instant) { sleep_until(instant.time_since_epoch()); }

 private:
    void sleep_until(Duration since_boot);

    int timer_;
    int bell_;
};

}  // namespace holdfast
