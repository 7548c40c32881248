#include "client/wakeup.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::client {

namespace {

int checked(int descriptor) {
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "cannot make a timer for the keeper");
    return descriptor;
}

timespec to_timespec(Duration since_boot) {
    // Zero would disarm the timer; one nanosecond after the clock's epoch is in the past, too.
    since_boot = std::max(since_boot, Duration{1});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    return {static_cast<time_t>(seconds.count()), static_cast<long>((since_boot - seconds).count())};
}

}  // namespace

Wakeup::Wakeup() : timer_(checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK))), bell_(-1) {
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell_ >= 0) return;
    const int why = errno;
    ::close(timer_);
    errno = why;
    checked(bell_);
}

Wakeup::~Wakeup() {
    ::close(bell_);
    ::close(timer_);
}

void Wakeup::ring() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(bell_, &one, sizeof one);
}

void Wakeup::sleep_until(Duration since_boot) {
    itimerspec setting{};
    if (since_boot != Duration::max()) setting.it_value = to_timespec(since_boot);
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &setting, nullptr);
    std::array<pollfd, 2> watched{pollfd{timer_, POLLIN, 0}, pollfd{bell_, POLLIN, 0}};
    ::poll(watched.data(), watched.size(), -1);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto rung = ::read(bell_, &count, sizeof count);
}

}  // namespace holdfast::client
