#include "store/redis/indices.h"

#include <algorithm>
#include <utility>

namespace holdfast::store::redis {
namespace {

constexpr std::size_t around_bytes = 128;  // size of an entry besides its text

std::size_t bytes_of(std::string_view name, const Indexed& indexed) {
    std::size_t bytes = around_bytes + name.size();
    for (const Indexed::Holder& holder : indexed.holders)
        bytes += sizeof holder + holder.name.size();
    return bytes;
}

}  // namespace

std::vector<std::string_view> folders_above(std::string_view path) {
    std::vector<std::string_view> out;
    for (auto slash = path.find('/'); slash != std::string_view::npos && out.size() <= max_folder_depth;
         slash = path.find('/', slash + 1))
        out.push_back(path.substr(0, slash));
    return out;
}

std::string_view folder_with_set(std::string_view folder) {
    const auto above = folders_above(folder);
    return above.size() > max_folder_depth ? above[max_folder_depth] : folder;
}

Indexed::Holder* Indexed::find(std::string_view holder) {
    const auto found = std::ranges::lower_bound(holders, holder, {}, &Holder::name);
    return found == holders.end() || found->name != holder ? nullptr : &*found;
}

Indexed::Holder& Indexed::insert(std::string_view holder) {
    return *holders.insert(std::ranges::lower_bound(holders, holder, {}, &Holder::name),
                           Holder{.name = std::string(holder)});
}

void Indexed::erase(const Holder* holder) {
    holders.erase(holders.begin() + (holder - holders.data()));
}

IndexMemory::IndexMemory(Limits limits, HashKey key)
    : limits_(limits), young_(make_text_map<Indexed>(key)), old_(make_text_map<Indexed>(key)) {}

Indexed& IndexMemory::use(std::string_view name) {
    if (const auto found = young_.find(name); found != young_.end()) return found->second;
    make_room();
    if (const auto found = old_.find(name); found != old_.end()) {
        young_bytes_ += bytes_of(name, found->second);
        return young_.insert(old_.extract(found)).position->second;
    }
    young_bytes_ += bytes_of(name, {});
    return young_.try_emplace(std::string(name)).first->second;
}

Indexed* IndexMemory::find(std::string_view name) {
    for (Map* map : {&young_, &old_})
        if (const auto found = map->find(name); found != map->end()) return &found->second;
    return nullptr;
}

Indexed::Holder& IndexMemory::add_holder(Indexed& indexed, std::string_view holder) {
    young_bytes_ += sizeof(Indexed::Holder) + holder.size();
    return indexed.insert(holder);
}

/// Keeps entries that are needed. Their number is limited by the swaps in flight and the queued holders.
void IndexMemory::make_room() {
    if (young_.size() < limits_.entries / 2 && young_bytes_ < limits_.bytes / 2) return;
    Map forgotten(0, young_.hash_function());
    forgotten.swap(old_);
    old_.swap(young_);
    young_bytes_ = 0;
    for (auto next = forgotten.begin(); next != forgotten.end();) {
        const auto entry = next++;
        if (entry->second.is_needed()) old_.insert(forgotten.extract(entry));
    }
}

void IndexMemory::clear() {
    ++life_;
    young_bytes_ = 0;
    young_.clear();
    old_.clear();
}

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

}  // namespace holdfast::store::redis
