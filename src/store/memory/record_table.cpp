#include "store/memory/record_table.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "store/memory/packed_record.h"

namespace holdfast::store::memory {
namespace {

/// A record with history will probably get more: leave room for it, so that a lock which is taken and released
/// repeatedly mostly stays in place.
constexpr std::size_t history_grain = 128;

constexpr std::size_t rounded_up(std::size_t size, std::size_t grain) {
    return (size + grain - 1) / grain * grain;
}

PackedRecord packed_record(const Slot& slot) {
    return PackedRecord{reinterpret_cast<const char*>(slot.body)};
}

}  // namespace

struct RecordTable::OpenRecord {
    std::string resource;
    lease::Record record;
    HolderIndex::Listing listing;
};

RecordTable::RecordTable(HashKey key) : key_(key), holders_(slots_, key, &holder_in) {}

RecordTable::~RecordTable() {
    for (SlotId id = 1; id < slots_.end(); ++id)
        if (used(id)) free_body(slots_[id]);
}

RecordTable::OpenRecord& RecordTable::open_record(const Slot& slot) {
    return *reinterpret_cast<OpenRecord*>(slot.body & ~std::uintptr_t{1});
}

std::string_view RecordTable::name_in(const Slot& slot) {
    return is_open(slot) ? std::string_view{open_record(slot).resource} : packed_record(slot).resource();
}

std::string_view RecordTable::holder_in(const Slot& slot) {
    return packed_record(slot).holder();
}

std::string_view RecordTable::resource_of(SlotId id) const {
    return name_in(slots_[id]);
}

SlotId RecordTable::find(std::string_view resource) {
    const std::uint32_t hashed = hash(resource);
    for (SlotId id = buckets_.head(hashed); id != 0; id = slots_[id].chain)
        if (slots_[id].hash == hashed && name_in(slots_[id]) == resource) return id;
    return 0;
}

/// In passes over all of them: each pass needs the data that the one before has fetched.
void RecordTable::prefetch(std::span<const Expected> coming) const {
    constexpr std::size_t together = 32;
    struct Look {
        std::uint32_t resource, holder;  // hashes
        SlotId slot;
    };
    std::array<Look, together> looks;
    const std::size_t count = std::min(coming.size(), together);
    for (std::size_t i = 0; i < count; ++i) {
        looks[i].resource = hash(coming[i].resource);
        buckets_.prefetch(looks[i].resource);
        if (coming[i].holder.empty()) continue;
        looks[i].holder = holders_.hash(coming[i].holder);
        holders_.buckets().prefetch(looks[i].holder);
    }
    for (std::size_t i = 0; i < count; ++i) {
        looks[i].slot = buckets_.head(looks[i].resource);
        slots_.prefetch(looks[i].slot);
        if (!coming[i].holder.empty()) slots_.prefetch(holders_.buckets().head(looks[i].holder));
    }
    constexpr int steps_along_chain = 2;  // few entries are farther from the head of their bucket
    for (int step = 0; step < steps_along_chain; ++step) {
        for (std::size_t i = 0; i < count; ++i) {
            const Slot& slot = slots_[looks[i].slot];
            if (slot.hash == looks[i].resource) continue;
            looks[i].slot = slot.chain;
            slots_.prefetch(slot.chain);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Slot& slot = slots_[looks[i].slot];
        prefetch_body(slot);
        if (coming[i].holder.empty()) continue;
        for (const SlotId neighbour : {slot.timer.prev, slot.timer.next, slot.holder.prev, slot.holder.next})
            if (neighbour < list_base) slots_.prefetch(neighbour);
    }
}

void RecordTable::link(SlotId id) {
    SlotId& head = buckets_.head(slots_[id].hash);
    slots_[id].chain = head;
    head = id;
}

SlotId RecordTable::insert(std::string_view resource, lease::Record& record) {
    const SlotId id = slots_.allocate();
    slots_[id].hash = hash(resource);
    link(id);
    buckets_.grow_for(++records_, [&](SlotId& head) {
        SlotId next = std::exchange(head, 0);
        while (next != 0) {
            const SlotId moving = next;
            next = slots_[moving].chain;
            link(moving);
        }
    });
    slots_.prefetch(buckets_.split_soon(8));  // a split reads every entry of the bucket
    slots_.prefetch(slots_[buckets_.split_soon(4)].chain);
    store(id, resource, record);
    return id;
}

void RecordTable::erase(SlotId id) {
    unindex(id);
    free_body(slots_[id]);
    SlotId* at = &buckets_.head(slots_[id].hash);
    while (*at != id)
        at = &slots_[*at].chain;
    *at = slots_[id].chain;
    --records_;
    slots_.release(id);
}

lease::Record& RecordTable::take(SlotId id) {
    if (id != 0 && is_open(slots_[id])) return open_record(slots_[id]).record;
    if (id != 0) {
        packed_record(slots_[id]).unpack(scratch_);
        return scratch_;
    }
    if (!scratch_.leases.empty()) scratch_.spare.swap(scratch_.leases.front().holder);
    scratch_.leases.clear();
    scratch_.ended.clear();
    scratch_.waiters.clear();
    scratch_.reserved.clear();
    scratch_.past.clear();
    scratch_.last_token = 0;
    return scratch_;
}

const lease::Record& RecordTable::read(SlotId id, lease::Record& room) const {
    if (is_open(slots_[id])) return open_record(slots_[id]).record;
    packed_record(slots_[id]).unpack(room);
    return room;
}

std::vector<SlotId> RecordTable::slots_of(std::string_view holder) {
    std::vector<SlotId> found;
    holders_.for_each(holder, [&](SlotId id) { found.push_back(id); });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

void RecordTable::put(SlotId id, lease::Record& record) {
    const std::string_view name = resource_of(id);
    if (PackedRecord::can_pack(record) && is_open(slots_[id])) {
        // The record and its name are in the body that is about to be freed.
        const std::string kept_name(name);
        lease::Record kept = std::move(record);
        store(id, kept_name, kept);
        return;
    }
    store(id, name, record);
}

void RecordTable::store(SlotId id, std::string_view resource, lease::Record& record) {
    HOLDFAST_ASSERT(!record.empty());
    Slot& slot = slots_[id];
    if (!PackedRecord::can_pack(record)) {
        put_open(id, resource, record);
        return;
    }
    const bool filled = slot.body != 0;
    const bool same_holder = filled && !is_open(slot) && packed_record(slot).has_lease() && !record.leases.empty() &&
                             holder_in(slot) == record.leases.front().holder;
    if (filled && !same_holder) unindex(id);
    put_packed(slot, resource, record);
    if (!same_holder && !record.leases.empty()) holders_.add(id);
}

void RecordTable::put_packed(Slot& slot, std::string_view resource, const lease::Record& record) {
    const std::size_t size = PackedRecord::size_of(resource, record);
    const bool has_history = !record.ended.empty();
    const std::size_t room = has_history ? rounded_up(size, history_grain) : rounded_up(size, Slab::grain);
    const bool packed = slot.body != 0 && !is_open(slot);
    const std::size_t has_room = packed ? packed_record(slot).room() : 0;
    // Do not keep the block of a large lease for the five minutes of its history.
    const bool fits = has_history ? size <= has_room && has_room <= room + Slab::largest : room == has_room;
    if (fits) {
        PackedRecord::pack(resource, record, {reinterpret_cast<char*>(slot.body), has_room});
        return;
    }
    char* body = slab_.allocate(room);
    PackedRecord::pack(resource, record, {body, room});
    if (slot.body != 0) free_body(slot);
    slot.body = reinterpret_cast<std::uintptr_t>(body);
}

void RecordTable::put_open(SlotId id, std::string_view resource, lease::Record& record) {
    Slot& slot = slots_[id];
    if (slot.body == 0 || !is_open(slot)) {
        auto opened = std::make_unique<OpenRecord>();
        opened->resource = resource;
        opened->record = std::move(record);
        if (slot.body != 0) {
            unindex(id);
            free_body(slot);
        }
        slot.body = reinterpret_cast<std::uintptr_t>(opened.release()) | 1;
    }
    OpenRecord& open = open_record(slot);
    holders_.relist(id, open.record, open.listing);
}

void RecordTable::unindex(SlotId id) {
    const Slot& slot = slots_[id];
    if (is_open(slot))
        holders_.relist(id, lease::Record{}, open_record(slot).listing);
    else if (packed_record(slot).has_lease())
        holders_.remove(id);
}

void RecordTable::free_body(Slot& slot) {
    if (is_open(slot)) {
        delete &open_record(slot);
    } else {
        char* bytes = reinterpret_cast<char*>(slot.body);
        slab_.free(bytes, PackedRecord{bytes}.room());
    }
    slot.body = 0;
}

}  // namespace holdfast::store::memory
