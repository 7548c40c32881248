#include "store/memory/holder_index.h"

#include <utility>

namespace holdfast::store::memory {

void HolderIndex::link(SlotId id) {
    SlotId& head = buckets_.head(hash(holder_of_(slots_[id])));
    slots_[id].holder = {0, head};
    if (head != 0) slots_[head].holder.prev = id;
    head = id;
}

void HolderIndex::add(SlotId id) {
    link(id);
    buckets_.grow_for(++linked_, [&](SlotId& head) {
        SlotId next = std::exchange(head, 0);
        while (next != 0) {
            const SlotId moving = next;
            next = slots_[moving].holder.next;
            link(moving);
        }
    });
    prefetch_split();
}

/// A split reads every entry of the bucket, including the name of its holder.
void HolderIndex::prefetch_split() const {
    slots_.prefetch(buckets_.split_soon(12));
    const Slot& soon = slots_[buckets_.split_soon(8)];
    prefetch_body(soon);
    slots_.prefetch(soon.holder.next);
    prefetch_body(slots_[slots_[buckets_.split_soon(4)].holder.next]);
}

void HolderIndex::remove(SlotId id) {
    const Link at = slots_[id].holder;
    if (at.prev != 0)
        slots_[at.prev].holder.next = at.next;
    else
        buckets_.head(hash(holder_of_(slots_[id]))) = at.next;
    if (at.next != 0) slots_[at.next].holder.prev = at.prev;
    slots_[id].holder = {};
    --linked_;
}

void HolderIndex::relist(SlotId id, const lease::Record& record, Listing& listing) {
    to_list_.clear();
    for (const lease::Lease& lease : record.leases)
        to_list_.push_back(&lease);
    for (const lease::Reservation& kept : record.reserved)
        to_list_.push_back(&kept.lease);

    // A record mostly changes at its end: entries in the same order as before stay listed, the others are listed again.
    std::size_t kept = 0;
    std::size_t at = 0;
    for (const auto& entry : listing) {
        if (at < to_list_.size() && to_list_[at]->token == entry.first) {
            listing[kept++] = entry;
            ++at;
        } else {
            crowded_.erase(entry.second);
        }
    }
    listing.resize(kept);
    for (; at < to_list_.size(); ++at)
        listing.emplace_back(to_list_[at]->token, crowded_.emplace(to_list_[at]->holder, id));
}

}  // namespace holdfast::store::memory
