#include "client/sleeper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/timerfd.h>
#include <system_error>

namespace holdfast::client {

namespace {

timespec to_timespec(Duration since_boot) {
    // Zero would disarm the timer; one nanosecond after the clock's epoch is in the past, too.
    since_boot = std::max(since_boot, Duration{1});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    return {static_cast<time_t>(seconds.count()), static_cast<long>((since_boot - seconds).count())};
}

}  // namespace

Sleeper::Sleeper() : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!timer_) throw std::system_error(errno, std::generic_category(), "cannot make a timer for the keeper");
}

void Sleeper::sleep_until(Duration since_boot) const {
    itimerspec setting{};
    if (since_boot != Duration::max()) setting.it_value = to_timespec(since_boot);
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &setting, nullptr);
    std::array<pollfd, 2> watched{pollfd{timer_.get(), POLLIN, 0}, pollfd{wakeup_.fd(), POLLIN, 0}};
    ::poll(watched.data(), watched.size(), -1);
    wakeup_.drain();
}

}  // namespace holdfast::client
