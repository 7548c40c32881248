#include "store/memory/number_set.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::store::memory {

std::size_t NumberSet::chunk_for(std::uint32_t number) const {
    const auto reaches =
        std::partition_point(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) { return chunk.back() < number; });
    return static_cast<std::size_t>(reaches - chunks_.begin());
}

void NumberSet::insert(std::uint32_t number) {
    const bool highest = chunks_.empty() || chunks_.back().back() < number;
    if (highest) {
        // Numbers mostly come in rising order: a full last chunk stays full instead of being split.
        if (chunks_.empty() || chunks_.back().size() == max_chunk) chunks_.emplace_back();
        chunks_.back().push_back(number);
        return;
    }
    std::size_t index = chunk_for(number);
    if (chunks_[index].size() == max_chunk) {
        split(index);
        index = chunk_for(number);
    }
    Chunk& chunk = chunks_[index];
    const auto place = std::lower_bound(chunk.begin(), chunk.end(), number);
    HOLDFAST_ASSERT(*place != number);
    chunk.insert(place, number);
}

void NumberSet::erase(std::uint32_t number) {
    const std::size_t index = chunk_for(number);
    HOLDFAST_ASSERT(index < chunks_.size());
    Chunk& chunk = chunks_[index];
    const auto place = std::lower_bound(chunk.begin(), chunk.end(), number);
    HOLDFAST_ASSERT(*place == number);
    chunk.erase(place);
    if (chunk.empty()) {
        chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(index));
        return;
    }
    merge_with_next(index);
    if (index > 0) merge_with_next(index - 1);
}

std::optional<std::uint32_t> NumberSet::at_or_after(std::uint32_t number) const {
    const std::size_t index = chunk_for(number);
    if (index == chunks_.size()) return std::nullopt;
    return *std::lower_bound(chunks_[index].begin(), chunks_[index].end(), number);
}

void NumberSet::split(std::size_t index) {
    const auto half = static_cast<std::ptrdiff_t>(max_chunk / 2);
    const auto after = chunks_.begin() + static_cast<std::ptrdiff_t>(index) + 1;
    chunks_.emplace(after, chunks_[index].begin() + half, chunks_[index].end());
    chunks_[index].resize(max_chunk / 2);
}

/// Merges only up to half a chunk, so that a set that grows and shrinks by one does not merge and split each time.
void NumberSet::merge_with_next(std::size_t index) {
    if (index + 1 == chunks_.size()) return;
    Chunk& chunk = chunks_[index];
    Chunk& next = chunks_[index + 1];
    if (chunk.size() + next.size() > max_chunk / 2) return;
    chunk.insert(chunk.end(), next.begin(), next.end());
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(index) + 1);
}

}  // namespace holdfast::store::memory
