#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>

#include "base/time.h"

namespace holdfast::discovery::relay {

/// A token bucket: bytes per second, with a burst of a tenth of a second. A take may leave a debt, so the size need not
/// be known beforehand.
class TokenBucket {
 public:
    using Time = std::chrono::steady_clock::time_point;

    /// Zero: no limit.
    explicit TokenBucket(std::uint64_t bytes_per_second)
        : rate_(static_cast<double>(bytes_per_second)), room_(std::max(rate_ / 10, 1.0)), level_(room_) {}

    bool is_limited() const { return rate_ > 0; }

    void refill(Time now) {
        if (!is_limited() || now <= filled_at_) return;
        if (filled_at_ != Time{}) level_ += std::chrono::duration<double>(now - filled_at_).count() * rate_;
        level_ = std::min(level_, room_);
        filled_at_ = now;
    }
    /// The number of bytes that may be taken now.
    std::uint64_t level() const { return level_ < 1 ? 0 : static_cast<std::uint64_t>(level_); }
    void take(std::uint64_t bytes) {
        if (is_limited()) level_ -= static_cast<double>(bytes);
    }

    /// The time from the last refill until taking is worthwhile: until there are 4 KiB, or half the capacity if that is
    /// less.
    Duration until_worthwhile() const {
        const double missing = std::min(4096.0, room_ / 2) - level_;
        if (!is_limited() || missing <= 0) return Duration::zero();
        return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(missing / rate_)) + 1us;
    }

 private:
    double rate_, room_, level_;
    Time filled_at_{};
};

class Stream;

/// The state that the streams of one service or one identity share: their traffic and their rate limit.
struct TrafficShare {
    explicit TrafficShare(std::uint64_t bytes_per_second) : bucket(bytes_per_second) {}

    // Written by the pump, read by any thread.
    std::atomic<std::uint64_t> to_publisher = 0;
    std::atomic<std::uint64_t> to_consumer = 0;

    // Used by the pump only.
    TokenBucket bucket;
    std::list<Stream*> paused;  ///< until the bucket has tokens again; longest waiting first
    bool is_thirsty = false;    ///< in the pump's list of shares with paused streams
};

}  // namespace holdfast::discovery::relay
