#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/true_time.h"

namespace holdfast::sim {

/// Future events, ordered by time, and at the same time in the order in which they were scheduled. So a world always
/// runs in the same way.
class EventQueue {
 public:
    using Action = std::function<void()>;
    static constexpr std::size_t most = 1'000'000;  ///< queued events; more is a bug of the world

    TrueInstant now() const { return now_; }
    std::uint64_t happened() const { return happened_; }

    /// REQUIRES: `when` is not in the past.
    void at(TrueInstant when, Action action);
    void after(Duration delay, Action action) { at(now_ + delay, std::move(action)); }

    /// Runs the next event if it is before `end`. Otherwise sets the time to `end` and returns false.
    bool run_next(TrueInstant end);

 private:
    struct Event {
        TrueInstant when;
        std::uint64_t number = 0;
        Action action;
    };
    static bool later(const Event& a, const Event& b) {
        return a.when != b.when ? a.when > b.when : a.number > b.number;
    }

    std::vector<Event> events_;  // a heap, the next one first
    TrueInstant now_;
    std::uint64_t planned_ = 0;
    std::uint64_t happened_ = 0;
};

}  // namespace holdfast::sim
