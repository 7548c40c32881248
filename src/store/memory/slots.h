#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "store/memory/give_back.h"

namespace holdfast::store::memory {

/// The number of a slot; 0 means none.
using SlotId = std::uint32_t;

/// A place in a circular list: neighbours by number. Numbers from list_base up are the heads of lists.
struct Link {
    SlotId prev = 0;
    SlotId next = 0;
};
inline constexpr SlotId list_base = 0x8000'0000;

/// One record's place in the table, in the timing wheel (or the history list), and in the holder index. 32 bytes: with
/// a million slots every field counts.
struct Slot {
    Link timer;
    SlotId chain = 0;         // the next slot in the same bucket
    std::uint32_t hash = 0;   // of the resource
    Link holder;              // neighbours in its bucket of the holder index; {0, 0} if not in it
    std::uintptr_t body = 0;  // a packed record, or an open one if the lowest bit is set; 0 if the slot is free
};
static_assert(sizeof(Slot) == 32);

/// Prefetches the first two cache lines of a slot's body, which is usually all of it.
inline void prefetch_body(const Slot& slot) {
    constexpr std::size_t cache_line = 64;
    const char* body = reinterpret_cast<const char*>(slot.body & ~std::uintptr_t{1});
    __builtin_prefetch(body);
    __builtin_prefetch(body + cache_line);
}

/// Slots by number, in pages that never move, so that growing copies nothing. Entirely unused pages are returned to the
/// system, as in Slab; they stay mapped and read as unused slots.
class Slots {
 public:
    Slots() { grow(); }

    Slot& operator[](SlotId id) { return pages_[id / page_size][id % page_size]; }
    const Slot& operator[](SlotId id) const { return pages_[id / page_size][id % page_size]; }

    void prefetch(SlotId id) const { __builtin_prefetch(&(*this)[id], 1); }

    SlotId allocate() {
        if (free_ != 0) {
            const SlotId id = free_;
            free_ = (*this)[id].chain;
            (*this)[id] = Slot{};
            --free_slots_;
            return id;
        }
        if (next_ == next_end_) {
            next_page();
            if (free_ != 0) return allocate();
        }
        if (next_ == end_) ++end_;
        return next_++;
    }

    void release(SlotId id) {
        (*this)[id] = Slot{};
        (*this)[id].chain = free_;
        free_ = id;
        ++free_slots_;
        ++released_;
    }

    /// Walks over up to `steps` free slots, if many were released. Returns true if there is more to do.
    bool give_back(std::size_t& steps);

    /// Bytes of the resident pages.
    std::size_t bytes() const { return (pages_.size() - empty_.size()) * page_size * sizeof(Slot); }

    /// One past the highest number ever used.
    SlotId end() const { return end_; }

 private:
    static constexpr SlotId page_size = 4096;

    /// The free slots of a page found so far.
    struct Found {
        SlotId first = 0, last = 0;
        SlotId count = 0;
    };

    void grow() {
        pages_.push_back(std::make_unique<Slot[]>(page_size));
        empty_.reserve(pages_.size());
    }
    void next_page();
    void find(SlotId id);
    void end_walk();

    std::vector<std::unique_ptr<Slot[]>> pages_;
    std::vector<SlotId> empty_;  // pages that are not resident
    SlotId end_ = 1;             // 0 means none
    SlotId next_ = 1;            // next fresh slot of the current page: never used, or not since the page was returned
    SlotId next_end_ = page_size;  // the end of the current page
    SlotId free_ = 0;
    std::size_t free_slots_ = 0;
    std::size_t released_ = 0;  // since the last check whether a walk is worthwhile
    Surplus surplus_;
    std::vector<Found> walk_;  // by page; empty: no walk under way
};

}  // namespace holdfast::store::memory
