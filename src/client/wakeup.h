#pragma once

#include "base/time.h"

namespace holdfast::client {

/// Lets one thread sleep until an instant, or until another thread calls ring(). The timer counts time in suspend, as
/// the clock does: after a resume an overdue sleep ends at once, whereas a condition variable would be late by the time
/// in suspend.
class Wakeup {
 public:
    Wakeup();
    ~Wakeup();
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    /// Ends the current sleep, or the next one. From any thread.
    void ring();

    /// May return spuriously early. The clock's max() sleeps until ring() is called.
    void sleep_until(HolderInstant instant) { sleep_until(instant.time_since_epoch()); }
    void sleep_until(Instant instant) { sleep_until(instant.time_since_epoch()); }

 private:
    void sleep_until(Duration since_boot);

    int timer_;
    int bell_;
};

}  // namespace holdfast::client
