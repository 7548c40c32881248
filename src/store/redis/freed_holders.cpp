#include "store/redis/freed_holders.h"

namespace holdfast::redis_engine {

void FreedHolders::add(std::string_view resource, Indexed& indexed, Indexed::Holder& entry, Instant now) {
    entry.freed_at = now;
    if (entry.waits) return;
    entry.waits = true;
    ++indexed.waiting;
    auto place = by_holder_.find(std::string_view(entry.name));
    if (place == by_holder_.end()) place = by_holder_.try_emplace(entry.name).first;
    place->second.emplace_back(resource);
    if (size_++ == 0) next_look_ = now + limits_.after;
    if (size_ >= limits_.entries) next_look_ = now;
    if (place->second.size() == limits_.of_holder) crowded_.push_back(entry.name);
}

/// Returns true if the entry no longer waits: it is dropped, or was needed again.
bool FreedHolders::leaves(const Look& look, const std::string& holder, const std::string& resource, bool at_once) {
    Indexed* const indexed = look.memory.find(resource);
    Indexed::Holder* const entry = indexed != nullptr ? indexed->find(holder) : nullptr;
    if (entry == nullptr) return true;
    const bool needed = entry->held || indexed->swaps > 0;
    if (!needed && !at_once && entry->freed_at + limits_.after > look.now) return false;
    entry->waits = false;
    --indexed->waiting;
    if (needed) return true;
    look.out.push_back({holder, resource, entry->score});
    indexed->erase(entry);
    return true;
}

std::vector<FreedHolders::Dropped> FreedHolders::take(IndexMemory& memory, Instant now) {
    std::vector<Dropped> out;
    const Look look{memory, now, out};
    for (const std::string& holder : std::exchange(crowded_, {})) {
        Resources& waiting = by_holder_.find(holder)->second;
        for (; waiting.size() > limits_.of_holder / 2; waiting.pop_front(), --size_)
            leaves(look, holder, waiting.front(), true);
    }
    if (now < next_look_) return out;
    const bool all = size_ >= limits_.entries;
    next_look_ = now + limits_.after / 3;
    for (auto next = by_holder_.begin(); next != by_holder_.end();) {
        const auto place = next++;
        size_ -= std::erase_if(place->second,
                               [&](const std::string& resource) { return leaves(look, place->first, resource, all); });
        if (place->second.empty()) by_holder_.erase(place);
    }
    return out;
}

void FreedHolders::clear() {
    by_holder_.clear();
    crowded_.clear();
    size_ = 0;
}

}  // namespace holdfast::redis_engine
