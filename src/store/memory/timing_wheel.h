#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "store/memory/slots.h"

namespace holdfast::store::memory {

/// Circular lists through the slots' timer links, with numbered heads.
class TimerLists {
 public:
    TimerLists(Slots& slots, SlotId lists);

    void push_back(SlotId list, SlotId id);
    /// Removes the slot from the list it is in.
    void remove(SlotId id);
    /// The first of a list, or 0.
    SlotId front(SlotId list) const;

 private:
    Link& link(SlotId id) { return id >= list_base ? heads_[id - list_base] : slots_[id].timer; }

    Slots& slots_;
    std::vector<Link> heads_;
};

/// A hierarchical timing wheel of 1 ms ticks: four levels of 256 places, 49 days. Filing and removing are O(1).
///
/// It does not know when an entry is due, only where it was filed. When an entry's place comes up, the wheel removes it
/// and passes it to the owner, which ends it or files it again: at a finer level, or later if its end has moved. So a
/// renewal does not touch the wheel at all.
class TimingWheel {
 public:
    static constexpr SlotId lists = 4 * 256;

    /// Uses the lists 0 to 1023 of `timers`.
    TimingWheel(TimerLists& timers, Instant start);

    /// Files a slot to come up at the first tick at or after `due`, or earlier, to be filed again. REQUIRES: it is in
    /// no list.
    void file(SlotId id, Instant due);

    /// Removes entries whose place has come up by `now` and passes each to `take`, until none is left or `steps` is
    /// used up. Returns true if more are due.
    template <class Take>
    bool advance(Instant now, std::size_t& steps, Take&& take) {
        const std::uint64_t target = tick_at_or_before(now);
        for (std::uint64_t next = next_tick(); next <= target; next = next_tick()) {
            at_ = next;
            for (unsigned level = 0; level < levels; ++level) {
                if (!starts_here(level)) break;
                const SlotId list = list_of(level, place_of(level, at_));
                while (const SlotId id = timers_.front(list)) {
                    if (steps == 0) return true;
                    --steps;
                    timers_.remove(id);
                    take(id);
                }
                mark(level, place_of(level, at_), false);
            }
        }
        if (target > at_) at_ = target;
        return false;
    }

    /// The first instant at which advance() may have an entry; Instant::max() if never.
    Instant next_due() const;

 private:
    static constexpr unsigned levels = 4;
    static constexpr std::uint64_t never = UINT64_MAX;
    using Marks = std::array<std::uint64_t, 4>;

    static std::uint64_t tick_at_or_before(Instant instant);
    static std::uint64_t tick_at_or_after(Instant instant);
    static unsigned place_of(unsigned level, std::uint64_t tick) {
        return static_cast<unsigned>(tick >> (8 * level)) & 255U;
    }
    static SlotId list_of(unsigned level, unsigned place) { return level * 256 + place; }

    /// True if the current tick is the first of a place of this level.
    bool starts_here(unsigned level) const { return (at_ & ((std::uint64_t{1} << (8 * level)) - 1)) == 0; }
    void mark(unsigned level, unsigned place, bool filled);
    std::uint64_t next_tick() const;
    std::uint64_t next_tick(unsigned level) const;

    TimerLists& timers_;
    std::uint64_t at_;                   // all entries before this tick have been removed
    std::array<Marks, levels> marks_{};  // places that may have entries; TimerLists::remove() leaves marks behind
};

}  // namespace holdfast::store::memory
