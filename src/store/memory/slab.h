#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/memory/give_back.h"

namespace holdfast::store::memory {

/// Allocates many small blocks without a header on each: sizes are rounded up to the grain, blocks of one size share
/// pages, and freed blocks are reused for the same size. Larger blocks come from the heap.
///
/// There is no accounting per page on allocation or free. When many blocks have been freed, give_back() walks over the
/// free blocks, groups them by page, and returns entirely free pages to the system.
class Slab {
 public:
    static constexpr std::size_t grain = 8;
    static constexpr std::size_t largest = 1024;  ///< enough for a record with the most history it may have

    char* allocate(std::size_t bytes);
    /// REQUIRES: `bytes` is the size passed to allocate().
    void free(char* block, std::size_t bytes);

    /// Walks over up to `steps` free blocks, if many were freed. Returns true if there is more to do.
    bool give_back(std::size_t& steps);

    /// Bytes of the resident pages and of larger blocks.
    std::size_t bytes() const { return (pages_ - empty_.size()) * page_bytes + large_bytes_; }

 private:
    static constexpr std::size_t page_bytes = 32 * 1024;
    static constexpr std::size_t pages_together = 32;  ///< allocated at once: a single page would waste its alignment

    struct Free {
        Free* next;
    };
    struct Class {
        Free* free = nullptr;
        char* next = nullptr;  // the unused rest of the newest page
        char* end = nullptr;
        std::size_t free_blocks = 0;
        std::size_t pages = 0;
        Surplus surplus{};
    };
    /// The free blocks of a page found so far.
    struct Found {
        Free* first = nullptr;
        Free* last = nullptr;
        std::size_t count = 0;
    };
    /// A walk over the free blocks of one size.
    struct Walk {
        std::size_t of = 0;
        std::unordered_map<char*, Found> pages{};
    };
    struct ReturnPages {
        void operator()(char* pages) const { ::operator delete (pages, std::align_val_t{page_bytes}); }
    };

    static std::size_t class_of(std::size_t bytes) { return (bytes + grain - 1) / grain; }
    static char* page_of(void* block) {
        return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(block) & ~std::uintptr_t{page_bytes - 1});
    }
    char* take_page();
    bool begin_walk();
    void find(Class& size, Free* block);
    void end_walk();

    std::array<Class, largest / grain + 1> classes_;
    std::vector<std::unique_ptr<char, ReturnPages>> regions_;
    std::vector<char*> empty_;  // pages without a class, not resident
    std::size_t pages_ = 0;
    std::size_t large_bytes_ = 0;
    std::size_t freed_ = 0;  // since the last check whether a walk is worthwhile
    std::optional<Walk> walk_;
};

}  // namespace holdfast::store::memory
