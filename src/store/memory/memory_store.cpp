#include "store/memory/memory_store.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "lease/conflicts.h"
#include "lease/manifest.h"
#include "store/memory/path_tree.h"
#include "store/memory/record_table.h"
#include "store/memory/timing_wheel.h"

namespace holdfast::store::memory {
namespace {

constexpr SlotId history_list =
    TimingWheel::lists;                       ///< the list of records that have only ended leases, oldest end first
constexpr std::size_t max_history = 500'000;  ///< records in history_list; beyond that the oldest are dropped early
constexpr std::size_t max_history_name_bytes = 64 << 20;  ///< likewise, for the bytes of their resource names
constexpr std::size_t slots_per_page = 20'000;            ///< slots read for one page of a listing

/// The list a slot is in. A record with leases, reservations, waiters or past holdings is in the wheel; a record with
/// only ended leases is in the history.
enum class Place : std::uint8_t { nowhere, wheel, history };

struct Outline {
    Place place = Place::nowhere;
    Marks marks = 0;
    std::size_t leases = 0;
    Instant due = Instant::max();
};

/// The number of entries that may conflict with a claim.
std::size_t claims_in(const lease::Record& record) {
    return record.leases.size() + record.reserved.size() + record.waiters.size();
}

Outline outline_of(const lease::Record& record) {
    const bool counts = claims_in(record) > 0 || !record.past.empty();
    return {counts ? Place::wheel : Place::history, marks_of(record), record.leases.size(), lease::next_change(record)};
}

bool matches(const ListQuery& query, std::string_view full_name) {
    if (query.name_space.empty() && query.prefix.empty()) return true;
    const lease::SplitName name = lease::split_name(full_name);
    return (query.name_space.empty() || query.name_space == name.name_space) && name.resource.starts_with(query.prefix);
}

}  // namespace

struct MemoryStore::Impl {
    Impl(StoreListener& told, HashKey key)
        : listener(told),
          table(key),
          timers(table.slots(), TimingWheel::lists + 1),
          wheel(timers, Instant{}),
          paths(key) {}

    /// The records that overlap with a resource, not settled. REQUIRES: the store is not changed during visit().
    class Overlapping final : public lease::Neighbours {
     public:
        Overlapping(const Impl& store, std::string_view resource) : store_(store), resource_(resource) {}

        void visit(lease::Predicate predicate, const Visit& visit) const override {
            if (store_.paths.is_empty()) return;
            lease::Record room;
            const auto show = [&](SlotId id) {
                return visit(store_.table.resource_of(id), store_.table.read(id, room));
            };
            store_.paths.visit(resource_, marks_against(predicate), std::cref(show));  // std::cref avoids an allocation
        }

     private:
        const Impl& store_;
        std::string_view resource_;
    };

    struct Ended {
        bool anything = false;
        bool place_freed = false;  ///< a lease, reservation or waiter ended: waiters may be due
    };

    /// Settles the record and notifies the listener of expired leases.
    Ended settle_and_tell(std::string_view resource, lease::Record& record) {
        const std::size_t before = claims_in(record);
        const bool anything = lease::settle(record, now, [&](const lease::Lease& lease) {
            listener.on_expired(resource, lease, now - lease.expires_at);
        });
        return {anything, claims_in(record) < before};
    }

    void tell_due(SlotId id) {
        const std::string_view resource = table.resource_of(id);
        const lease::Record& record = table.read(id, looking);
        const auto due = lease::due_waiters(record, Overlapping(*this, resource), now);
        if (!due.empty()) listener.on_due(resource, due);
    }

    /// Notifies the listener of waiters that may be due after something ended in the record of this resource: those of
    /// the record itself and of the overlapping records. REQUIRES: the record is written back; `own` is its slot if it
    /// has waiters, else 0.
    void tell_turns(std::string_view resource, SlotId own) {
        if (own != 0) tell_due(own);
        if (paths.is_empty()) return;
        std::vector<SlotId> waiting;
        paths.visit(resource, mark_waiting, [&](SlotId other) {
            waiting.push_back(other);
            return true;
        });
        for (const SlotId other : waiting)
            tell_due(other);
    }

    void file(SlotId id, const Outline& outline) {
        if (outline.place == Place::wheel) {
            wheel.file(id, outline.due);
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
        return remembered > max_history || remembered_name_bytes > max_history_name_bytes;
    }

    /// Writes back a changed record, or erases it if it is empty, and files it by its next end.
    void write_back(std::string_view resource, SlotId id, lease::Record& record, const Outline& before) {
        const Outline after = outline_of(record);
        leases += after.leases - before.leases;
        paths.mark(resource, id, {before.marks, after.marks});
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

    /// Returns the new slot, or 0 if the record is empty.
    SlotId add(std::string_view resource, lease::Record& record) {
        if (record.empty()) return 0;
        const Outline outline = outline_of(record);
        leases += outline.leases;
        const SlotId id = table.insert(resource, record);
        paths.mark(resource, id, {0, outline.marks});
        file(id, outline);
        return id;
    }

    void update(std::string_view resource, Update& change) {
        SlotId id = table.find(resource);
        lease::Record& record = table.take(id);
        const Outline before = outline_of(record);
        const Ended ended = settle_and_tell(resource, record);
        const Effect effect = change.apply(record, Overlapping(*this, resource), now);
        if (!ended.anything && effect == Effect::none) return;
        const bool waited_for = !record.waiters.empty();
        if (id == 0)
            id = add(resource, record);
        else
            write_back(resource, id, record, before);
        if (ended.place_freed || effect == Effect::freed) tell_turns(resource, waited_for ? id : 0);
    }

    void settle_slot(SlotId id, lease::Record& record, const Outline& before) {
        name.assign(table.resource_of(id));
        const Ended ended = settle_and_tell(name, record);
        const bool waited_for = !record.waiters.empty();
        write_back(name, id, record, before);
        if (ended.place_freed) tell_turns(name, waited_for ? id : 0);
    }

    /// The wheel removed this slot, so it is in no list: it is due, or must be filed again.
    void come_up(SlotId id) {
        lease::Record& record = table.take(id);
        Outline outline = outline_of(record);
        if (outline.due > now) {
            file(id, outline);
            return;
        }
        outline.place = Place::nowhere;
        settle_slot(id, record, outline);
    }

    /// Drops history past its time, and the oldest history if there is too much. Returns true if more is due.
    bool forget(std::size_t& steps) {
        while (const SlotId id = timers.front(history_list)) {
            lease::Record& record = table.take(id);
            const Outline before = outline_of(record);
            const bool early = before.due > now;
            if (early && !remembers_too_much()) return false;
            if (steps == 0) return true;
            --steps;
            if (early) record.ended.clear();
            settle_slot(id, record, before);
        }
        return false;
    }

    /// The position of a listing: the last slot listed; or, if `token` is set, a slot that did not fit into the page
    /// and the last token listed of it.
    struct Cursor {
        std::uint64_t slot = 0;
        lease::Token token = 0;
    };
    static std::optional<Cursor> parse_cursor(std::string_view text) {
        if (text.empty()) return Cursor{};
        const std::size_t dot = std::min(text.find('.'), text.size());
        const auto slot = parse_number(text.substr(0, dot));
        const auto token = dot == text.size() ? std::optional<std::uint64_t>(0) : parse_number(text.substr(dot + 1));
        if (!slot || !token || (*token > 0 && *slot == 0)) return std::nullopt;
        return Cursor{*slot, *token};
    }

    /// The leases of a slot that match the query, with tokens above `above`, oldest first. Valid until `looking` is
    /// used again.
    const std::vector<const lease::Lease*>& asked_for(const ListQuery& query, SlotId id, lease::Token above) {
        asked.clear();
        for (const lease::Lease& lease : table.read(id, looking).leases)
            if (lease.token > above && lease.active(now) && (query.holder.empty() || query.holder == lease.holder))
                asked.push_back(&lease);
        std::sort(asked.begin(), asked.end(),
                  [](const lease::Lease* a, const lease::Lease* b) { return a->token < b->token; });
        return asked;
    }

    /// A page under construction.
    struct PageMaker {
        ListPage page{};
        std::size_t bytes = 0;
        bool full() const { return bytes >= lease::limits::page_bytes; }
        void add(std::string_view resource, const lease::Lease& lease) {
            page.leases.push_back({std::string(resource), lease});
            bytes += sizeof(NamedLease) + resource.size() + lease.text_bytes();
        }
    };

    /// Adds the leases of a slot with tokens above `above`. Returns the last token listed if the slot did not fit;
    /// nullopt if it is complete.
    std::optional<lease::Token> add_to_page(const ListQuery& query, SlotId id, lease::Token above, PageMaker& made) {
        const std::string_view resource = table.resource_of(id);
        if (!matches(query, resource)) return std::nullopt;
        const auto& found = asked_for(query, id, above);
        const std::size_t before = made.page.leases.size();
        if (before > 0 && before + found.size() > query.limit) return above;
        for (const lease::Lease* lease : found) {
            if (made.full()) return above;
            made.add(resource, *lease);
            above = lease->token;
        }
        return std::nullopt;
    }

    Result<ListPage> list(const ListQuery& query) {
        const auto begin = parse_cursor(query.after);
        if (!begin) return Error{Code::invalid_argument, "after is not `next` of a page of this store"};
        const bool all = query.holder.empty();
        const std::vector<SlotId> candidates = all ? std::vector<SlotId>{} : table.slots_of(query.holder);
        const auto next_after = [&](std::uint64_t id) -> SlotId {
            if (all) return id + 1 < table.end() ? static_cast<SlotId>(id + 1) : 0;
            const auto found = std::upper_bound(candidates.begin(), candidates.end(), id);
            return found == candidates.end() ? 0 : *found;
        };
        PageMaker made;
        std::uint64_t last = begin->token > 0 ? begin->slot - 1 : begin->slot;
        std::size_t looked_at = 0;
        for (SlotId id = next_after(last); id != 0; id = next_after(id)) {
            const bool room = made.page.leases.size() < query.limit && !made.full() && looked_at++ < slots_per_page;
            const lease::Token above = id == begin->slot ? begin->token : 0;
            const auto came_to = !room || !table.used(id) ? std::nullopt : add_to_page(query, id, above, made);
            if (!room || came_to) {
                const bool within = came_to.value_or(0) > 0;
                made.page.next = within ? fmt::format("{}.{}", id, *came_to) : std::to_string(last);
                break;
            }
            last = id;
        }
        return std::move(made.page);
    }

    StoreListener& listener;
    Instant now;
    RecordTable table;
    TimerLists timers;
    TimingWheel wheel;
    PathTree paths;
    std::size_t leases = 0;
    std::size_t remembered = 0;
    std::size_t remembered_name_bytes = 0;
    std::string name;       // reused, so that the sweep does not allocate
    lease::Record looking;  // reused likewise
    std::vector<const lease::Lease*> asked;
};

MemoryStore::MemoryStore(StoreListener& listener, HashKey hash_key)
    : impl_(std::make_unique<Impl>(listener, hash_key)) {}

MemoryStore::~MemoryStore() = default;

bool MemoryStore::advance(Instant now, std::size_t steps) {
    HOLDFAST_ASSERT(now >= impl_->now);
    impl_->now = now;
    const bool more_due = impl_->wheel.advance(now, steps, [&](SlotId id) { impl_->come_up(id); });
    const bool more_old = impl_->forget(steps);
    const bool more_free = impl_->table.give_back(steps);
    return more_due || more_old || more_free;
}

Instant MemoryStore::next_due() const {
    const Instant due = impl_->wheel.next_due();
    const SlotId oldest = impl_->timers.front(history_list);
    if (oldest == 0) return due;
    return std::min(due, lease::next_change(impl_->table.read(oldest, impl_->looking)));
}

void MemoryStore::update(std::string_view resource, Update& update) {
    impl_->update(resource, update);
    update.done({});
}

void MemoryStore::expect(std::span<const Expected> coming) {
    impl_->table.prefetch(coming);
}

void MemoryStore::leases_of(std::string_view holder, Which which, std::size_t most,
                            Callback<Result<std::vector<lease::LeaseName>>> reply) {
    std::vector<lease::LeaseName> names;
    for (const SlotId id : impl_->table.slots_of(holder)) {
        const auto add = [&](const lease::Lease& lease, Instant until) {
            if (lease.holder == holder && impl_->now < until && names.size() < most)
                names.push_back({std::string(impl_->table.resource_of(id)), lease.token});
        };
        const bool reserved_too = which == Which::active_or_reserved;
        const lease::Record& record = impl_->table.read(id, impl_->looking);
        for (const lease::Lease& lease : record.leases)  // an expired one may not have been swept into `reserved` yet
            add(lease, reserved_too && lease.resumable ? lease.expires_at + lease::limits::grace : lease.expires_at);
        if (!reserved_too) continue;
        for (const lease::Reservation& kept : record.reserved)
            add(kept.lease, kept.until);
    }
    reply(std::move(names));
}

void MemoryStore::list(const ListQuery& query, Callback<Result<ListPage>> reply) {
    reply(impl_->list(query));
}

std::size_t MemoryStore::active_leases() const {
    return impl_->leases;
}

std::size_t MemoryStore::memory_bytes() const {
    return impl_->table.memory_bytes();
}

void MemoryStore::for_each_record(
    const std::function<void(std::string_view resource, const lease::Record& record)>& visit) const {
    for (SlotId id = 1; id < impl_->table.end(); ++id)
        if (impl_->table.used(id)) visit(impl_->table.resource_of(id), impl_->table.read(id, impl_->looking));
}

void MemoryStore::restore(std::string_view resource, const lease::Record& record) {
    HOLDFAST_ASSERT(impl_->table.find(resource) == 0);
    lease::Record kept = record;
    kept.waiters.clear();
    impl_->add(resource, kept);
}

}  // namespace holdfast::store::memory
