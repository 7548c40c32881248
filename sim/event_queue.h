#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/true_time.h"

namespace holdfast::sim {

/// What is going to happen, in one order: by time, and at one time in the order in which it was planned. So a world
/// goes the same way every time.
class EventQueue {
 public:
    using Action = std::function<void()>;
    static constexpr std::size_t most = 1'000'000;  ///< events planned at one time; more is a bug of the world

    TrueInstant now() const { return now_; }
    std::uint64_t happened() const { return happened_; }

    /// REQUIRES: not in the past.
    void at(TrueInstant when, Action action);
    void after(Duration delay, Action action) { at(now_ + delay, std::move(action)); }

    /// Lets the next event happen, if it is before `end`; else the time is `end`, and there is none.
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
