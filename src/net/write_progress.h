#pragma once

#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace holdfast::net {

/// Tracks whether a client reads its output fast enough. The write timeout applies to every 16 KiB, and to the
/// remainder. A client that reads a byte now and then cannot keep its answers in memory for hours.
class WriteProgress {
 public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t bytes_least = 16 * 1024;

    /// A new write begins; all earlier output has been sent.
    void begin(Clock::time_point now) {
        waiting_ = true;
        at_ = now;
        sent_ = 0;
    }
    void sent(std::size_t bytes, Clock::time_point now) {
        sent_ += bytes;
        if (sent_ < bytes_least) return;
        at_ = now;
        sent_ = 0;
    }
    void end() { waiting_ = false; }

    bool is_waiting() const { return waiting_; }
    bool is_late(Clock::time_point now, Duration timeout) const { return waiting_ && now >= at_ + timeout; }

 private:
    bool waiting_ = false;
    Clock::time_point at_;
    std::size_t sent_ = 0;  // since at_
};

}  // namespace holdfast::net
