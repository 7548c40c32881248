#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "store/memory/slots.h"

namespace holdfast::store::memory {

/// The bucket heads of a hash table that grows by one bucket at a time (linear hashing), so that no insertion pays for
/// a full rehash. The owner of the chains moves the entries of the bucket that is split.
class Buckets {
 public:
    Buckets() { pages_.push_back(std::make_unique<SlotId[]>(page_size)); }

    /// The head of the chain for a hash.
    SlotId& head(std::uint32_t hash) { return at(index_of(hash)); }
    SlotId head(std::uint32_t hash) const { return at(index_of(hash)); }

    void prefetch(std::uint32_t hash) const { __builtin_prefetch(&at(index_of(hash)), 1); }

    /// Adds a bucket if there are fewer buckets than entries. `split` gets the head of the bucket to split: it must
    /// detach the whole chain and link every entry again under head(its hash).
    template <class Split>
    void grow_for(std::size_t entries, Split&& split) {
        if (entries <= size()) return;
        const std::uint32_t splitting = split_;
        if (size() == pages_.size() * page_size) pages_.push_back(std::make_unique<SlotId[]>(page_size));
        if (++split_ == (1U << level_)) {
            ++level_;
            split_ = 0;
        }
        split(at(splitting));
    }

    /// The head of the bucket that is split after `others` further splits, so that its chain can be prefetched.
    SlotId split_soon(std::uint32_t others) const { return at((split_ + others) & ((1U << level_) - 1)); }

    std::size_t size() const { return (std::size_t{1} << level_) + split_; }

 private:
    static constexpr std::size_t page_size = 4096;

    std::uint32_t index_of(std::uint32_t hash) const {
        const std::uint32_t index = hash & ((1U << level_) - 1);
        return index >= split_ ? index : hash & ((2U << level_) - 1);
    }

    SlotId& at(std::uint32_t index) const { return pages_[index / page_size][index % page_size]; }

    std::vector<std::unique_ptr<SlotId[]>> pages_;
    std::uint32_t level_ = 10;
    std::uint32_t split_ = 0;  // buckets below this have been split in the current doubling
};

}  // namespace holdfast::store::memory
