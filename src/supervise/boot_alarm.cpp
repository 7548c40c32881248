#include "supervise/boot_alarm.h"

#include <algorithm>
#include <sys/timerfd.h>

namespace holdfast {

BootAlarm::BootAlarm() : timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

void BootAlarm::set(HolderInstant at) {
    const auto since_boot = std::max(at.time_since_epoch(), Duration{1});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    itimerspec alarm{};
    alarm.it_value.tv_sec = seconds.count();
    alarm.it_value.tv_nsec = (since_boot - seconds).count();
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &alarm, nullptr);
}

}  // namespace holdfast
