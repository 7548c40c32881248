#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "lease/record.h"
#include "store/memory/buckets.h"
#include "store/memory/slots.h"

namespace holdfast::store::memory {

/// Maps a holder to the slots with its leases and reservations (R5). A packed record is linked in place, through its
/// slot; an open record is listed in a map.
class HolderIndex {
 public:
    /// Returns the holder of a slot's only lease, for slots that were passed to add().
    using HolderOf = std::string_view (*)(const Slot& slot);

    HolderIndex(Slots& slots, HashKey key, HolderOf holder_of) : slots_(slots), key_(key), holder_of_(holder_of) {}

    /// Links a slot under the holder of its only lease. REQUIRES: the slot's body is in place.
    void add(SlotId id);
    /// Undoes add(). REQUIRES: the slot's body still names the same holder.
    void remove(SlotId id);

    /// The map entries of an open record: the tokens of its leases and reservations, and their positions.
    using Listing = std::vector<std::pair<lease::Token, std::multimap<std::string, SlotId, std::less<>>::iterator>>;
    /// Updates the listing of an open record.
    void relist(SlotId id, const lease::Record& record, Listing& listing);

    /// Calls `visit` with each slot that has a lease or reservation of the holder; for an open record once per entry.
    template <class Visit>
    void for_each(std::string_view holder, Visit&& visit) {
        for (SlotId id = buckets_.head(hash(holder)); id != 0; id = slots_[id].holder.next)
            if (holder_of_(slots_[id]) == holder) visit(id);
        const auto [first, last] = crowded_.equal_range(holder);
        for (auto entry = first; entry != last; ++entry)
            visit(entry->second);
    }

    std::uint32_t hash(std::string_view holder) const { return static_cast<std::uint32_t>(hash_place(key_, holder)); }
    const Buckets& buckets() const { return buckets_; }

 private:
    void link(SlotId id);
    void prefetch_split() const;

    Slots& slots_;
    HashKey key_;
    HolderOf holder_of_;
    Buckets buckets_;
    std::size_t linked_ = 0;
    std::multimap<std::string, SlotId, std::less<>> crowded_;
    std::vector<const lease::Lease*> to_list_;  // reused, so that relist() rarely allocates
};

}  // namespace holdfast::store::memory
