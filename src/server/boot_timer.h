#pragma once

#include <functional>
#include <memory>

#include "base/time.h"

namespace boost::asio {
class io_context;
}

namespace holdfast {

/// Wakes the loop at an instant of the store's clock, CLOCK_BOOTTIME. Not one of Asio's timers: those run on a clock
/// that stands still while the machine sleeps, and would fire that much too late.
class BootTimer {
 public:
    /// `on_due` is called on the loop at or after the instant that was set last, and may set the next one.
    BootTimer(boost::asio::io_context& loop, std::function<void()> on_due);
    ~BootTimer();

    /// Replaces what was set before. Instant::max() is never.
    void set(Instant due);

    /// Nothing is called from now on.
    void stop();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
