#include "sim/event_queue.h"

#include <algorithm>

namespace holdfast::sim {

void EventQueue::at(TrueInstant when, Action action) {
    HOLDFAST_ASSERT(when >= now_);
    HOLDFAST_ASSERT(events_.size() < most);
    events_.push_back({when, planned_++, std::move(action)});
    std::push_heap(events_.begin(), events_.end(), later);
}

bool EventQueue::run_next(TrueInstant end) {
    if (events_.empty() || events_.front().when >= end) {
        now_ = std::max(now_, end);
        return false;
    }
    std::pop_heap(events_.begin(), events_.end(), later);
    const Event event = std::move(events_.back());
    events_.pop_back();
    now_ = event.when;
    ++happened_;
    event.action();
    return true;
}

}  // namespace holdfast::sim
