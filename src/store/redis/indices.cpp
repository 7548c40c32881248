#include "store/redis/indices.h"

#include <utility>

namespace holdfast::redis_engine {
namespace {

std::size_t bytes_of(const Indexed& indexed) {
    std::size_t bytes = 100;
    for (const Indexed::Holder& holder : indexed.holders)
        bytes += sizeof holder + holder.name.size();
    return bytes;
}

}  // namespace

std::vector<std::string_view> folders_above(std::string_view path) {
    std::vector<std::string_view> out;
    for (auto slash = path.find('/'); slash != std::string_view::npos && out.size() <= folder_depth_most;
         slash = path.find('/', slash + 1))
        out.push_back(path.substr(0, slash));
    return out;
}

std::string_view folder_with_set(std::string_view folder) {
    const auto above = folders_above(folder);
    return above.size() > folder_depth_most ? above[folder_depth_most] : folder;
}

Indexed IndexMemory::take(WriteId write) {
    for (Map* map : {&young_, &old_})
        if (const auto found = map->find(write); found != map->end()) {
            if (map == &young_) young_bytes_ -= bytes_of(found->second);
            Indexed out = std::move(found->second);
            map->erase(found);
            return out;
        }
    return {};
}

void IndexMemory::put(WriteId write, Indexed indexed) {
    if (young_.size() >= limits_.entries / 2 || young_bytes_ >= limits_.bytes / 2) {
        old_ = std::exchange(young_, {});
        young_bytes_ = 0;
    }
    young_bytes_ += bytes_of(indexed);
    young_.insert_or_assign(write, std::move(indexed));
}

void IndexMemory::clear() {
    young_bytes_ = 0;
    young_.clear();
    old_.clear();
}

}  // namespace holdfast::redis_engine
