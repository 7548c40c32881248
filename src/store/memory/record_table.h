#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "lease/record.h"
#include "store/memory/buckets.h"
#include "store/memory/holder_index.h"
#include "store/memory/slab.h"
#include "store/memory/slots.h"
#include "store/store.h"

namespace holdfast::store::memory {

/// Records by resource and by holder. Most records have one lease and are kept packed. A record with several leases,
/// reservations, past holdings or a long queue is kept open, as a Record (PackedRecord::can_pack()).
class RecordTable {
 public:
    explicit RecordTable(HashKey key);
    ~RecordTable();
    RecordTable(const RecordTable&) = delete;
    RecordTable& operator=(const RecordTable&) = delete;

    /// The slot of a resource, or 0.
    SlotId find(std::string_view resource);

    /// Adds a slot with this record. REQUIRES: the resource has no slot.
    SlotId insert(std::string_view resource, lease::Record& record);
    void erase(SlotId id);

    /// The record of a slot, for a change: in place if it is open, else a copy that is valid until the next take().
    /// Slot 0 gives an empty record. put() stores the change.
    lease::Record& take(SlotId id);
    /// Writes back the record from take(), whose reference is then invalid. REQUIRES: the record is not empty.
    void put(SlotId id, lease::Record& record);

    /// Prefetches the memory that updates of these will need. With a million records it is not in the processor's
    /// cache, and cache misses are most of the cost of an update.
    void prefetch(std::span<const Expected> coming) const;

    /// The record of a slot, for reading; `room` may be used as its buffer.
    const lease::Record& read(SlotId id, lease::Record& room) const;
    /// REQUIRES: the slot is used.
    std::string_view resource_of(SlotId id) const;

    bool used(SlotId id) const { return slots_[id].body != 0; }
    /// One past the highest slot ever used.
    SlotId end() const { return slots_.end(); }
    /// The slots with a lease of the holder or a reservation for it, in order.
    std::vector<SlotId> slots_of(std::string_view holder);

    /// Searches up to `steps` free blocks and slots, if many are free, and returns memory to the system. Returns true
    /// if there is more to do.
    bool give_back(std::size_t& steps) { return slab_.give_back(steps) || slots_.give_back(steps); }
    /// Approximate memory in use, without open records.
    std::size_t memory_bytes() const { return slab_.bytes() + slots_.bytes(); }

    /// The slots themselves, for callers that link lists through them.
    Slots& slots() { return slots_; }

 private:
    struct OpenRecord;

    static bool is_open(const Slot& slot) { return (slot.body & 1) != 0; }
    static OpenRecord& open_record(const Slot& slot);
    static std::string_view name_in(const Slot& slot);
    static std::string_view holder_in(const Slot& slot);

    std::uint32_t hash(std::string_view resource) const {
        return static_cast<std::uint32_t>(hash_place(key_, resource));
    }
    void link(SlotId id);
    void put_packed(Slot& slot, std::string_view resource, const lease::Record& record);
    void put_open(SlotId id, std::string_view resource, lease::Record& record);
    void store(SlotId id, std::string_view resource, lease::Record& record);
    void unindex(SlotId id);
    void free_body(Slot& slot);

    HashKey key_;
    Slots slots_;
    Buckets buckets_;
    std::size_t records_ = 0;
    HolderIndex holders_;
    Slab slab_;
    lease::Record scratch_;  // reused, so that reading a packed record does not allocate
};

}  // namespace holdfast::store::memory
