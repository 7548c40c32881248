#include "store/redis/indices.h"

#include <algorithm>
#include <utility>

namespace holdfast::redis_engine {
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

IndexMemory::IndexMemory(Limits limits, HashKey key) : limits_(limits), young_(0, Hash{key}), old_(0, Hash{key}) {}

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

}  // namespace holdfast::redis_engine
