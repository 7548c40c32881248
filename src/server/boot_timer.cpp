#include "server/boot_timer.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/assert.h"

namespace holdfast::server {

namespace asio = boost::asio;

struct BootTimer::Impl : std::enable_shared_from_this<Impl> {
    Impl(asio::io_context& loop, std::function<void()> function)
        : descriptor(loop, ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)), on_due(std::move(function)) {
        HOLDFAST_ASSERT(descriptor.is_open());
    }

    void wait() {
        descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                              [self = shared_from_this()](const boost::system::error_code& failed) {
                                  if (!failed && !self->stopped) self->fired();
                              });
    }

    void fired() {
        std::uint64_t times = 0;
        const bool due = ::read(descriptor.native_handle(), &times, sizeof times) == sizeof times;
        if (due) on_due();
        if (!stopped) wait();
    }

    asio::posix::stream_descriptor descriptor;
    std::function<void()> on_due;
    bool stopped = false;
};

BootTimer::BootTimer(asio::io_context& loop, std::function<void()> on_due)
    : impl_(std::make_shared<Impl>(loop, std::move(on_due))) {
    impl_->wait();
}

BootTimer::~BootTimer() {
    stop();
}

void BootTimer::set(Instant due) {
    itimerspec when{};  // zero: never
    if (due != Instant::max()) {
        const Duration since_boot = std::max(due.time_since_epoch(), Duration{1});
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
        when.it_value.tv_sec = seconds.count();
        when.it_value.tv_nsec = (since_boot - seconds).count();
    }
    const int outcome = ::timerfd_settime(impl_->descriptor.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);
    HOLDFAST_ASSERT(outcome == 0);
}

void BootTimer::stop() {
    impl_->stopped = true;
    boost::system::error_code ignored;
    impl_->descriptor.cancel(ignored);
}

}  // namespace holdfast::server
