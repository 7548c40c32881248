#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace holdfast::client {

/// The end of a lease by the holder's clock, read by any thread while one thread moves it. Once any thread has seen
/// that it passed, it never moves again: held() stays false until the moving thread calls begin_another().
class HeldUntil {
 public:
    /// Not held.
    HeldUntil() = default;
    explicit HeldUntil(HolderInstant end) : end_(end.time_since_epoch().count()) {}

    /// Loads the end before it reads the clock: a thread that is suspended in between then errs on the safe side.
    template <class Clock>
    bool held_by(Clock clock) noexcept {
        std::int64_t end = end_.load(std::memory_order_acquire);
        while (end != over) {
            if (clock().time_since_epoch().count() < end) return true;
            // The first thread to see the end makes it final; if the end was moved meanwhile, check again.
            if (end_.compare_exchange_weak(end, over, std::memory_order_acq_rel)) return false;
        }
        return false;
    }
    bool held(HolderInstant now) noexcept {
        return held_by([now] { return now; });
    }

    /// Moves the end if it has not passed; otherwise returns false.
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

}  // namespace holdfast::client
