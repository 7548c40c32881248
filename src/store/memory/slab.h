#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::core {

/// Memory for many small blocks without a header on each: sizes are rounded up to the grain, blocks of one size share
/// pages, freed blocks are used again for the same size. Larger blocks come from the heap.
class Slab {
 public:
    static constexpr std::size_t grain = 8;
    static constexpr std::size_t largest = 1024;  ///< enough for a record with all the history it may have

    char* allocate(std::size_t bytes);
    /// REQUIRES: `bytes` is what the block was allocated with.
    void free(char* block, std::size_t bytes);

 private:
    static constexpr std::size_t page_bytes = 32 * 1024;

    struct Free {
        Free* next;
    };
    struct Class {
        Free* free = nullptr;
        char* next = nullptr;  // the unused rest of the newest page
        char* end = nullptr;
    };

    static std::size_t class_of(std::size_t bytes) { return (bytes + grain - 1) / grain; }

    std::array<Class, largest / grain + 1> classes_;
    std::vector<std::unique_ptr<char[]>> pages_;
};

}  // namespace holdfast::core
