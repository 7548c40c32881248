#include "store/memory/slots.h"

namespace holdfast::store::memory {

void Slots::next_page() {
    if (!walk_.empty()) end_walk();
    if (free_ != 0) return;
    SlotId page = static_cast<SlotId>(pages_.size());
    if (empty_.empty()) {
        grow();
    } else {
        page = empty_.back();
        empty_.pop_back();
    }
    next_ = page * page_size;
    next_end_ = next_ + page_size;
}

bool Slots::give_back(std::size_t& steps) {
    constexpr std::size_t many = 4096;
    if (walk_.empty()) {
        if (released_ < many) return false;
        released_ = 0;
        const std::size_t all = (pages_.size() - empty_.size()) * page_size;
        if (!surplus_.worth_a_look({free_slots_, all, sizeof(Slot)})) return false;
        walk_.resize(pages_.size());
    }
    for (; steps > 0 && free_ != 0; --steps) {
        const SlotId id = free_;
        free_ = (*this)[id].chain;
        find(id);
    }
    if (free_ == 0) end_walk();
    return true;
}

void Slots::find(SlotId id) {
    const SlotId page = id / page_size;
    Found& found = walk_[page];
    (*this)[id].chain = found.first;
    found.first = id;
    if (found.last == 0) found.last = id;
    if (++found.count < page_size) return;
    free_slots_ -= page_size;
    found = {};
    char* begin = reinterpret_cast<char*>(pages_[page].get());
    memory::give_back(begin, begin + page_size * sizeof(Slot));
    empty_.push_back(page);
}

/// Slots found on pages that are still in use return to the free list.
void Slots::end_walk() {
    for (const Found& found : walk_) {
        if (found.first == 0) continue;
        (*this)[found.last].chain = free_;
        free_ = found.first;
    }
    surplus_.looked(free_slots_);
    walk_.clear();
}

}  // namespace holdfast::store::memory
