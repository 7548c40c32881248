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
        next_ = bytes_least;
    }
    /// `bytes` is the total sent since begin().
    void sent(std::size_t bytes, Clock::time_point now) {
        if (bytes < next_) return;
        at_ = now;
        next_ = bytes + bytes_least;
    }
    void end() { waiting_ = false; }

    bool is_waiting() const { return waiting_; }
    bool is_late(Clock::time_point now, Duration timeout) const { return waiting_ && now >= at_ + timeout; }

 private:
    bool waiting_ = false;
    Clock::time_point at_;
    std::size_t next_ = 0;
};

}  // namespace holdfast::net
