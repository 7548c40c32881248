#include "store/cas/engine_clock.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace holdfast::store::cas {
namespace {

/// Two clocks that are synchronised by NTP drift apart by less.
constexpr Duration::rep drift_per = 1000;
/// A holder stops 50 ms before its lease ends, or 1 % of its TTL (T3). Half of the latter is left to steps that are
/// small, so that many of them do not add up to more.
constexpr Duration step_allowed = 50ms;
constexpr Duration::rep steps_allowed_per = 200;
constexpr Duration fresh_for = 10s;
constexpr Duration max_width = 250ms;

Duration drift(Duration time) {
    return time / drift_per;
}

}  // namespace

Duration EngineClockBounds::add(const Sample& sample) {
    HOLDFAST_ASSERT(sample.sent <= sample.received);
    const Duration low = sample.engine.time_since_epoch() - sample.received.time_since_epoch();
    const Duration high = sample.engine.time_since_epoch() - sample.sent.time_since_epoch();
    if (!known_) {
        *this = EngineClockBounds{};
        known_ = true;
        low_ = low;
        high_ = high;
        at_ = received_ = sample.received;
        return Duration::zero();
    }
    // An answer that was overtaken by a later one still narrows the bounds; the bounds do not go back in time.
    const Duration passed = std::max(Duration::zero(), sample.received - at_);
    const Duration was_low = low_ - drift(passed);
    const Duration was_high = high_ + drift(passed);
    const bool fits = low <= was_high && high >= was_low;
    low_ = fits ? std::max(low, was_low) : low;
    high_ = fits ? std::min(high, was_high) : high;
    at_ = std::max(at_, sample.received);
    received_ = std::max(received_, sample.received);
    const Duration ahead = std::max(Duration::zero(), low - was_high);
    stepped_ = std::max(Duration::zero(), stepped_ - passed / steps_allowed_per) + ahead;
    if (stepped_ <= step_allowed) return Duration::zero();
    return std::exchange(stepped_, Duration::zero());
}

void EngineClockBounds::resume(const ClockOffset& offset) {
    known_ = true;
    at_ = received_ = offset.at;
    low_ = offset.low;
    high_ = offset.high;
}

bool EngineClockBounds::usable(Instant now) const {
    if (!known_ || now - received_ > fresh_for) return false;
    return latest(now) - earliest(now) <= max_width;
}

EngineTime EngineClockBounds::latest(Instant now) const {
    HOLDFAST_ASSERT(known_);
    return EngineTime{now.time_since_epoch() + high_ + drift(std::max(Duration::zero(), now - at_))};
}

EngineTime EngineClockBounds::earliest(Instant now) const {
    HOLDFAST_ASSERT(known_);
    return EngineTime{now.time_since_epoch() + low_ - drift(std::max(Duration::zero(), now - at_))};
}

Instant EngineClockBounds::surely_past(EngineTime time) const {
    HOLDFAST_ASSERT(known_);
    const Instant by_bound{time.time_since_epoch() - low_};
    return by_bound + std::max(Duration::zero(), by_bound - at_) / (drift_per - 1) + 1us;
}

}  // namespace holdfast::store::cas
