#pragma once

#include "base/fd.h"
#include "base/time.h"
#include "base/wakeup.h"

namespace holdfast::client {

/// Lets one thread sleep until an instant, or until another thread calls wake(). The timer counts time in suspend, as
/// the clock does: after a resume an overdue sleep ends at once, whereas a condition variable would be late by the time
/// in suspend.
class Sleeper {
 public:
    Sleeper();

    /// Ends the current sleep, or the next one. From any thread.
    void wake() const { wakeup_.notify(); }

    /// May return spuriously early. The clock's max() sleeps until wake() is called.
    void sleep_until(HolderInstant instant) const { sleep_until(instant.time_since_epoch()); }
    void sleep_until(Instant instant) const { sleep_until(instant.time_since_epoch()); }

 private:
    void sleep_until(Duration since_boot) const;

    Fd timer_;
    Wakeup wakeup_;
};

}  // namespace holdfast::client
