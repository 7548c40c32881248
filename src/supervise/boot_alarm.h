#pragma once

#include <algorithm>
#include <sys/timerfd.h>

#include "base/fd.h"
#include "base/time.h"

namespace holdfast::supervise {

/// A timer on the holder's clock, which counts suspend (T3).
class BootAlarm {
 public:
    BootAlarm() : timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

    /// Readable once the instant has passed.
    int fd() const { return timer_.get(); }
    void set(HolderInstant at) {
        const auto since_boot = std::max(at.time_since_epoch(), Duration{1});
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
        itimerspec alarm{};
        alarm.it_value.tv_sec = seconds.count();
        alarm.it_value.tv_nsec = (since_boot - seconds).count();
        timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &alarm, nullptr);
    }

 private:
    Fd timer_;
};

}  // namespace holdfast::supervise
