#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::store::memory {

/// An ordered set of numbers. A large set takes 4 to 8 bytes per number, a small one one or two allocations. It is
/// stored in chunks, so that no insertion or removal moves more than a chunk and the list of chunks.
class NumberSet {
 public:
    /// REQUIRES: the number is not in the set.
    void insert(std::uint32_t number);
    /// REQUIRES: the number is in the set.
    void erase(std::uint32_t number);

    bool contains(std::uint32_t number) const { return at_or_after(number) == number; }
    /// The lowest member that is not below `number`; nullopt if none.
    std::optional<std::uint32_t> at_or_after(std::uint32_t number) const;
    bool empty() const { return chunks_.empty(); }

 private:
    static constexpr std::size_t max_chunk = 512;
    using Chunk = std::vector<std::uint32_t>;

    /// The first chunk whose last number is not below `number`, or one past the last chunk.
    std::size_t chunk_for(std::uint32_t number) const;
    void split(std::size_t index);
    void merge_with_next(std::size_t index);

    std::vector<Chunk> chunks_;  // in order; none is empty
};

}  // namespace holdfast::store::memory
