#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>

#include "base/time.h"

namespace holdfast::relay {

/// So many bytes per second, with what was saved up in a tenth of one. What was taken in one go may leave a debt, so
/// nobody has to know beforehand how much there will be.
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
    /// What may be taken now.
    std::uint64_t level() const { return level_ < 1 ? 0 : static_cast<std::uint64_t>(level_); }
    void take(std::uint64_t bytes) {
        if (is_limited()) level_ -= static_cast<double>(bytes);
    }

    /// How long from the last refill until taking is worth the while: a piece of 4 KiB, or half of what it can hold.
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

/// What the streams of one service, or of one identity, have in common: what they have carried, and how much more they
/// may now.
struct TrafficShare {
    explicit TrafficShare(std::uint64_t bytes_per_second) : bucket(bytes_per_second) {}

    // Counted by the pump, read by anyone.
    std::atomic<std::uint64_t> to_publisher = 0;
    std::atomic<std::uint64_t> to_consumer = 0;

    // The pump's alone.
    TokenBucket bucket;
    std::list<Stream*> paused;  ///< until there is something in the bucket again, longest first
    bool is_thirsty = false;    ///< in the pump's list of those with paused streams
};

}  // namespace holdfast::relay
