#pragma once

#include <functional>
#include <memory>

#include "base/time.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

/// Wakes the loop at an instant of the store's clock, CLOCK_BOOTTIME. Asio's own timers will not do: their clock stops
/// while the machine sleeps, so they would fire late by that time.
class BootTimer {
 public:
    /// `on_due` is called on the loop, at or after the instant set last. It may set the next one.
    BootTimer(boost::asio::io_context& loop, std::function<void()> on_due);
    ~BootTimer();

    /// Replaces the instant set before. Instant::max() means never.
    void set(Instant due);

    /// `on_due` is not called any more.
    void stop();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::server
