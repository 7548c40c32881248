#include "store/memory/memory_store.h"

#include <algorithm>

#include "base/assert.h"
#include "lease/manifest.h"
#include "store/memory/record_table.h"
#include "store/memory/timing_wheel.h"

namespace holdfast::core {
namespace {

constexpr SlotId history_list =
    TimingWheel::lists;                        ///< the list of records that have only ended leases, oldest end first
constexpr std::size_t history_most = 500'000;  ///< of those; beyond, the oldest are forgotten early
constexpr std::size_t history_most_name_bytes = 64 << 20;  ///< likewise, of the names of their resources
constexpr std::size_t slots_per_page = 20'000;             ///< how many slots one page of a listing looks at

/// In which list a slot is. A record with leases or waiters is in the wheel; one that only remembers is in the history.
enum class Place : std::uint8_t { nowhere, wheel, history };

struct Sight {
    Place place = Place::nowhere;
    std::size_t leases = 0;
    Instant due = Instant::max();
};

Sight look(const Record& record) {
    const bool live = !record.leases.empty() || !record.waiters.empty();
    return {live ? Place::wheel : Place::history, record.leases.size(), next_change(record)};
}

bool matches(const ListQuery& query, std::string_view full_name) {
    if (query.name_space.empty() && query.prefix.empty()) return true;
    const SplitName name = split_name(full_name);
    return (query.name_space.empty() || query.name_space == name.name_space) && name.resource.starts_with(query.prefix);
}

}  // namespace

struct MemoryStore::Impl {
    Impl(StoreListener& told, HashKey key)
        : listener(told), table(key), timers(table.slots(), TimingWheel::lists + 1), wheel(timers, Instant{}) {}

    /// Takes out what time has ended and tells of it. Returns true if anything did.
    bool settle_and_tell(std::string_view resource, Record& record) {
        return settle(record, now,
                      [&](const Lease& lease) { listener.on_expired(resource, lease, now - lease.expires_at); });
    }

    void tell_due(std::string_view resource, const Record& record) {
        if (record.waiters.empty()) return;
        const auto due = due_waiters(record, now);
        if (!due.empty()) listener.on_due(resource, due);
    }

    void file(SlotId id, const Sight& sight) {
        if (sight.place == Place::wheel) {
            wheel.file(id, sight.due);
            return;
        }
        timers.push_back(history_list, id);
        ++remembered;
        remembered_name_bytes += table.resource_of(id).size();
    }

    void unfile(SlotId id, Place place) {
        if (place == Place::nowhere) return;
        timers.remove(id);
        if (place != Place::history) return;
        --remembered;
        remembered_name_bytes -= table.resource_of(id).size();
    }

    bool remembers_too_much() const {
        return remembered > history_most || remembered_name_bytes > history_most_name_bytes;
    }

    /// Writes back a record that was changed, or drops it if nothing is left, and files it where its next end finds it.
    void write_back(SlotId id, Record& record, const Sight& before) {
        const Sight after = look(record);
        leases += after.leases - before.leases;
        if (record.empty()) {
            unfile(id, before.place);
            table.erase(id);
            return;
        }
        table.put(id, record);
        const bool comes_up_early_enough =
            before.place == Place::wheel && after.place == Place::wheel && after.due >= before.due;
        if (comes_up_early_enough) return;
        unfile(id, before.place);
        file(id, after);
    }

    void add(std::string_view resource, Record& record) {
        if (record.empty()) return;
        const Sight sight = look(record);
        leases += sight.leases;
        file(table.insert(resource, record), sight);
    }

    void update(std::string_view resource, Update& change) {
        const SlotId id = table.find(resource);
        Record& record = table.take(id);
        const Sight before = look(record);
        const bool ended = settle_and_tell(resource, record);
        const Effect effect = change.apply(record, now);
        if (ended || effect == Effect::freed) tell_due(resource, record);
        if (!ended && effect == Effect::none) return;
        if (id == 0)
            add(resource, record);
        else
            write_back(id, record, before);
    }

    void settle_slot(SlotId id, Record& record, const Sight& before) {
        name.assign(table.resource_of(id));
        settle_and_tell(name, record);
        tell_due(name, record);
        write_back(id, record, before);
    }

    /// A slot came up in the wheel and is in no list now: it is due, or it is to be filed again.
    void come_up(SlotId id) {
        Record& record = table.take(id);
        Sight sight = look(record);
        if (sight.due > now) {
            file(id, sight);
            return;
        }
        sight.place = Place::nowhere;
        settle_slot(id, record, sight);
    }

    /// Forgets what ended long ago, and the oldest of what ended if there is too much of it. Returns true if there is
    /// more.
    bool forget(std::size_t& steps) {
        while (const SlotId id = timers.front(history_list)) {
            Record& record = table.take(id);
            const Sight before = look(record);
            const bool early = before.due > now;
            if (early && !remembers_too_much()) return false;
            if (steps == 0) return true;
            --steps;
            if (early) record.ended.clear();
            settle_slot(id, record, before);
        }
        return false;
    }

    /// Adds the active leases of a slot that the query asks for. Returns false, adding none, if the page has no room.
    bool add_to_page(const ListQuery& query, SlotId id, ListPage& page) {
        const std::string_view resource = table.resource_of(id);
        if (!matches(query, resource)) return true;
        const std::size_t before = page.leases.size();
        for (const Lease& lease : table.read(id, looking).leases)
            if (lease.active(now) && (query.holder.empty() || query.holder == lease.holder))
                page.leases.push_back({std::string(resource), lease});
        if (before == 0 || page.leases.size() <= query.limit) return true;
        page.leases.resize(before);
        return false;
    }

    ListPage list(const ListQuery& query) {
        const bool all = query.holder.empty();
        const std::vector<SlotId> candidates = all ? std::vector<SlotId>{} : table.slots_of(query.holder);
        const auto next_after = [&](std::uint64_t id) -> SlotId {
            if (all) return id + 1 < table.end() ? static_cast<SlotId>(id + 1) : 0;
            const auto found = std::upper_bound(candidates.begin(), candidates.end(), id);
            return found == candidates.end() ? 0 : *found;
        };
        ListPage page;
        std::uint64_t last = query.after;
        std::size_t looked_at = 0;
        for (SlotId id = next_after(last); id != 0; id = next_after(id)) {
            const bool room = page.leases.size() < query.limit && looked_at++ < slots_per_page &&
                              (!table.used(id) || add_to_page(query, id, page));
            if (!room) {
                page.next = last;
                break;
            }
            last = id;
        }
        return page;
    }

    StoreListener& listener;
    Instant now;
    RecordTable table;
    TimerLists timers;
    TimingWheel wheel;
    std::size_t leases = 0;
    std::size_t remembered = 0;
    std::size_t remembered_name_bytes = 0;
    std::string name;  // reused, so that the sweep allocates nothing
    Record looking;    // reused likewise
};

MemoryStore::MemoryStore(StoreListener& listener, HashKey hash_key)
    : impl_(std::make_unique<Impl>(listener, hash_key)) {}

MemoryStore::~MemoryStore() = default;

bool MemoryStore::advance(Instant now, std::size_t steps) {
    HOLDFAST_ASSERT(now >= impl_->now);
    impl_->now = now;
    const bool more_due = impl_->wheel.advance(now, steps, [&](SlotId id) { impl_->come_up(id); });
    const bool more_old = impl_->forget(steps);
    return more_due || more_old;
}

Instant MemoryStore::next_due() const {
    const Instant due = impl_->wheel.next_due();
    const SlotId oldest = impl_->timers.front(history_list);
    if (oldest == 0) return due;
    return std::min(due, next_change(impl_->table.read(oldest, impl_->looking)));
}

void MemoryStore::update(std::string_view resource, Update& update) {
    impl_->update(resource, update);
    update.done({});
}

void MemoryStore::leases_of(std::string_view holder, std::size_t most, Callback<Result<std::vector<LeaseName>>> reply) {
    std::vector<LeaseName> names;
    for (const SlotId id : impl_->table.slots_of(holder))
        for (const Lease& lease : impl_->table.read(id, impl_->looking).leases)
            if (lease.holder == holder && lease.active(impl_->now) && names.size() < most)
                names.push_back({std::string(impl_->table.resource_of(id)), lease.token});
    reply(std::move(names));
}

void MemoryStore::list(const ListQuery& query, Callback<Result<ListPage>> reply) {
    reply(impl_->list(query));
}

std::size_t MemoryStore::active_leases() const {
    return impl_->leases;
}

void MemoryStore::for_each_record(
    const std::function<void(std::string_view resource, const Record& record)>& visit) const {
    for (SlotId id = 1; id < impl_->table.end(); ++id)
        if (impl_->table.used(id)) visit(impl_->table.resource_of(id), impl_->table.read(id, impl_->looking));
}

void MemoryStore::restore(std::string_view resource, const Record& record) {
    HOLDFAST_ASSERT(impl_->table.find(resource) == 0);
    Record kept = record;
    kept.waiters.clear();
    impl_->add(resource, kept);
}

}  // namespace holdfast::core
