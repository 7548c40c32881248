#include "server/memory_gauge.h"

#include <algorithm>

namespace holdfast::server {
namespace {

constexpr Duration look_every = 1s;
constexpr Duration trim_every = 10s;
constexpr std::uint64_t little_memory = 8 << 20;  ///< less is not worth returning
constexpr std::size_t few_kept = 1000;            ///< likewise, in ended leases and waiters

}  // namespace

void MemoryGauge::read(Reading reading, Instant now) {
    last_ = reading;
    if (after_trim_ == 0) after_trim_ = reading.resident;
    max_kept_ = std::max(max_kept_, reading.kept);
    judge(reading);
    if (now < looked_at_ + look_every) return;
    grows_ = reading.resident > a_while_ago_ + a_while_ago_ / 100;
    a_while_ago_ = reading.resident;
    looked_at_ = now;
}

void MemoryGauge::judge(Reading reading) {
    const std::uint64_t reserve = most_ / 20;
    if (!full_) {
        full_ = reading.resident >= std::max(most_ - reserve, reusable_up_to_);
        kept_when_full_ = reading.kept;
        return;
    }
    const bool smaller = reading.resident < most_ - 2 * reserve;
    const bool much_ended = reading.kept + few_kept < kept_when_full_ && reading.kept < kept_when_full_ / 4 * 3;
    full_ = !smaller && !much_ended;
    reusable_up_to_ = smaller || full_ ? 0 : std::min(reading.resident + reserve / 2, most_);
}

void MemoryGauge::trimmed(Reading reading) {
    after_trim_ = reading.resident;
    max_kept_ = reading.kept;
    trim_again_ = looked_at_ + trim_every;
}

bool MemoryGauge::grew_much() const {
    return last_.resident > after_trim_ + after_trim_ / 5 + little_memory;
}

bool MemoryGauge::shrank_much() const {
    return last_.kept + few_kept < max_kept_ && last_.kept < max_kept_ / 4 * 3;
}

bool MemoryGauge::wants_trim(Instant now) const {
    if (now < trim_again_) return false;
    return full_ || shrank_much() || (grew_much() && !grows_);
}

Instant MemoryGauge::next_due(Instant now) const {
    return full_ || shrank_much() || grew_much() ? now + look_every : Instant::max();
}

}  // namespace holdfast::server
