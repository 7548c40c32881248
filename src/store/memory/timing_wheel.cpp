#include "store/memory/timing_wheel.h"

#include <algorithm>
#include <bit>

namespace holdfast::store::memory {
namespace {

constexpr std::uint64_t ns_per_tick = 1'000'000;

/// The distance from `place` to the next marked place, cyclically: 1 to 256, or 0 if none is marked.
unsigned distance_to_next(const std::array<std::uint64_t, 4>& marks, unsigned place) {
    for (unsigned step = 1; step <= 256;) {
        const unsigned candidate = (place + step) & 255U;
        const std::uint64_t word = marks[candidate / 64] >> (candidate % 64);
        if (word != 0) {
            const unsigned found = step + static_cast<unsigned>(std::countr_zero(word));
            return found <= 256 ? found : 0;
        }
        step += 64 - candidate % 64;
    }
    return 0;
}

}  // namespace

TimerLists::TimerLists(Slots& slots, SlotId lists) : slots_(slots), heads_(lists) {
    for (SlotId list = 0; list < lists; ++list)
        heads_[list] = {list_base + list, list_base + list};
}

void TimerLists::push_back(SlotId list, SlotId id) {
    const SlotId head = list_base + list;
    const SlotId last = link(head).prev;
    slots_[id].timer = {last, head};
    link(last).next = id;
    link(head).prev = id;
}

void TimerLists::remove(SlotId id) {
    const Link at = slots_[id].timer;
    link(at.prev).next = at.next;
    link(at.next).prev = at.prev;
    slots_[id].timer = {};
}

SlotId TimerLists::front(SlotId list) const {
    const SlotId first = heads_[list].next;
    return first == list_base + list ? 0 : first;
}

TimingWheel::TimingWheel(TimerLists& timers, Instant start) : timers_(timers), at_(tick_at_or_before(start)) {}

std::uint64_t TimingWheel::tick_at_or_before(Instant instant) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(instant.time_since_epoch().count(), 0)) / ns_per_tick;
}

std::uint64_t TimingWheel::tick_at_or_after(Instant instant) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(instant.time_since_epoch().count(), 0));
    return (ns + ns_per_tick - 1) / ns_per_tick;
}

void TimingWheel::file(SlotId id, Instant due) {
    const std::uint64_t tick = std::max(tick_at_or_after(due), at_);
    const std::uint64_t ahead = tick - at_;
    unsigned level = 0;
    while (level + 1 < levels && ahead >= std::uint64_t{1} << (8 * (level + 1)))
        ++level;
    // An entry beyond the wheel's range goes to the farthest place and is filed again from there.
    const std::uint64_t farthest = at_ + (std::uint64_t{1} << (8 * levels)) - 1;
    const unsigned place = place_of(level, std::min(tick, farthest));
    timers_.push_back(list_of(level, place), id);
    mark(level, place, true);
}

void TimingWheel::mark(unsigned level, unsigned place, bool filled) {
    const std::uint64_t bit = std::uint64_t{1} << (place % 64);
    std::uint64_t& word = marks_[level][place / 64];
    word = filled ? word | bit : word & ~bit;
}

std::uint64_t TimingWheel::next_tick(unsigned level) const {
    const unsigned here = place_of(level, at_);
    const bool marked_here = (marks_[level][here / 64] >> (here % 64) & 1) != 0;
    if (marked_here && starts_here(level)) return at_;
    const unsigned distance = distance_to_next(marks_[level], here);
    if (distance == 0) return never;
    return ((at_ >> (8 * level)) + distance) << (8 * level);
}

std::uint64_t TimingWheel::next_tick() const {
    std::uint64_t next = never;
    for (unsigned level = 0; level < levels; ++level)
        next = std::min(next, next_tick(level));
    return next;
}

Instant TimingWheel::next_due() const {
    const std::uint64_t next = next_tick();
    if (next == never) return Instant::max();
    return Instant{Duration{static_cast<std::int64_t>(next * ns_per_tick)}};
}

}  // namespace holdfast::store::memory
