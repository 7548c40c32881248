#include "store/postgres/server_clock.h"

#include <chrono>

namespace holdfast::postgres {
namespace {

constexpr Duration step = 1s;  // larger than the delay of any reply

}  // namespace

void ServerClock::observe(core::EngineTime now, Instant received) {
    const Duration ahead = now.time_since_epoch() - received.time_since_epoch();
    if (!ahead_ || std::chrono::abs(ahead - *ahead_) > step) even_since_ = received;
    ahead_ = ahead;
}

core::EngineTime ServerClock::not_after(Instant now, Duration wait) const {
    if (!ahead_) return core::EngineTime::max();
    return core::EngineTime(*ahead_ + now.time_since_epoch() + wait);
}

bool ServerClock::is_even_for(Duration span, Instant now) const {
    return ahead_ && now - even_since_ >= span;
}

}  // namespace holdfast::postgres
