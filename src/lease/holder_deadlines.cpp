#include "lease/holder_deadlines.h"

#include <algorithm>

#include "lease/skew_margin.h"

namespace holdfast::lease {

HolderDeadlines::HolderDeadlines(const TimedAnswer& answer) {
    // No grant was made after its answer arrived, no matter how long the store says that the request waited.
    const HolderInstant from = std::min(answer.sent_at + answer.waited, answer.arrived_at);
    const Duration end_in = answer.timeline.expires_in - skew_margin(answer.ttl);
    const Duration hard_in = std::min(answer.timeline.hard_terminate_in, end_in - end_in / 8);
    const Duration soft_in = std::min(answer.timeline.soft_terminate_in, hard_in - hard_in / 8);
    const Duration renew_in = std::min(answer.timeline.renew_in, soft_in * 3 / 4);
    renew_ = from + renew_in;
    soft_ = from + soft_in;
    hard_ = from + hard_in;
    end_ = from + end_in;
}

HolderDeadlines::HolderDeadlines(const Stated& stated) : hard_(std::min(stated.hard, stated.end)), end_(stated.end) {
    soft_ = std::min(stated.soft, hard_);
    renew_ = std::min(stated.renew, soft_);
}

HolderDeadlines HolderDeadlines::earlier_of(const HolderDeadlines& other) const {
    HolderDeadlines earlier;
    earlier.renew_ = std::min(renew_, other.renew_);
    earlier.soft_ = std::min(soft_, other.soft_);
    earlier.hard_ = std::min(hard_, other.hard_);
    earlier.end_ = std::min(end_, other.end_);
    return earlier;
}

bool HolderDeadlines::on_answer(const HolderDeadlines& renewed, HolderInstant now) {
    const bool in_time = held(now) && renewed.held(now);
    *this = in_time ? renewed : earlier_of(renewed);
    return in_time;
}

void HolderDeadlines::hasten(double part, HolderInstant from) {
    if (from >= renew_) return;
    renew_ -= std::chrono::duration_cast<Duration>((renew_ - from) * part);
}

}  // namespace holdfast::lease
