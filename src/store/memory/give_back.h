#pragma once

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::store::memory {

/// Zeroes this memory and returns its whole pages to the system. They become resident again when they are written to.
inline void give_back(char* begin, char* end) {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    char* from = begin + (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
    char* to = end - reinterpret_cast<std::uintptr_t>(end) % page;
    const bool given = from < to && ::madvise(from, static_cast<std::size_t>(to - from), MADV_DONTNEED) == 0;
    if (!given) from = to = end;
    std::memset(begin, 0, static_cast<std::size_t>(from - begin));
    std::memset(to, 0, static_cast<std::size_t>(end - to));
}

/// Decides whether enough items are free to make a search for entirely free pages worthwhile. Items that a search could
/// not return are not searched again until many more are free.
class Surplus {
 public:
    struct Counts {
        std::size_t free = 0;
        std::size_t all = 0;
        std::size_t bytes_each = 0;
    };
    bool worth_a_look(const Counts& now) {
        constexpr std::size_t little = 1 << 20;
        left_ = left_ < now.free ? left_ : now.free;
        const std::size_t fresh = now.free - left_;
        return fresh * now.bytes_each >= little && fresh >= now.all / 4;
    }
    void looked(std::size_t free) { left_ = free; }

 private:
    std::size_t left_ = 0;  // free items after the last search
};

}  // namespace holdfast::store::memory
