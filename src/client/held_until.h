#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace holdfast {

/// The end of a holding by the holder's clock, read by any thread while one thread moves it. Once it was seen to have
/// passed it never moves again: what turned false stays false, until that one thread begins another holding.
class HeldUntil {
 public:
    /// Not held.
    HeldUntil() = default;
    explicit HeldUntil(HolderInstant end) : end_(end.time_since_epoch().count()) {}

    /// Reads the clock after the end: a thread that is put to sleep in between then errs on the safe side.
    template <class Clock>
    bool held_by(Clock clock) noexcept {
        std::int64_t end = end_.load(std::memory_order_acquire);
        while (end != over) {
            if (clock().time_since_epoch().count() < end) return true;
            // Whoever sees the end first makes it final; if it was moved meanwhile, look again.
            if (end_.compare_exchange_weak(end, over, std::memory_order_acq_rel)) return false;
        }
        return false;
    }
    bool held(HolderInstant now) noexcept {
        return held_by([now] { return now; });
    }

    /// Moves the end, if it has not passed; false if it has.
    bool move(HolderInstant to, HolderInstant now) noexcept {
        std::int64_t end = end_.load(std::memory_order_acquire);
        while (end != over && now.time_since_epoch().count() < end)
            if (end_.compare_exchange_weak(end, to.time_since_epoch().count(), std::memory_order_acq_rel)) return true;
        return false;
    }

    void begin_another(HolderInstant end) noexcept {
        end_.store(end.time_since_epoch().count(), std::memory_order_release);
    }
    void finish() noexcept { end_.store(over, std::memory_order_release); }

    HolderInstant end() const noexcept { return HolderInstant{Duration{end_.load(std::memory_order_acquire)}}; }

 private:
    static constexpr std::int64_t over = INT64_MIN;
    std::atomic<std::int64_t> end_{over};
};

}  // namespace holdfast
