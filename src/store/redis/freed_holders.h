#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/redis/indices.h"

namespace holdfast::redis_engine {

/// Entries of holders' sets that no record needs any more. A lock is often taken again by its last holder, so the
/// entries are kept for some seconds, and dropped in batches if nothing needed them in the meantime. Bounded per holder
/// and in total: above the limits, the entries that waited longest are dropped at once.
class FreedHolders {
 public:
    struct Limits {
        std::size_t entries = 50'000;
        std::size_t of_holder = 64;
        Duration after = 3s;
    };
    explicit FreedHolders(Limits limits, HashKey key) : limits_(limits), by_holder_(0, Hash{key}) {}

    /// REQUIRES: the entry is not held.
    void add(std::string_view resource, Indexed& indexed, Indexed::Holder& entry, Instant now);
    /// True if take() may find something.
    bool has_work(Instant now) const { return !crowded_.empty() || (size_ > 0 && now >= next_look_); }

    struct Dropped {
        std::string holder;
        std::string resource;
        std::int64_t score;
    };
    /// Returns the entries to drop now, and forgets them.
    std::vector<Dropped> take(IndexMemory& memory, Instant now);
    void clear();
    std::size_t size() const { return size_; }

 private:
    using Resources = std::deque<std::string>;  // oldest first
    struct Hash {
        using is_transparent = void;
        HashKey key;
        std::size_t operator()(std::string_view text) const { return hash_place(key, text); }
    };
    struct Look {
        IndexMemory& memory;
        Instant now;
        std::vector<Dropped>& out;
    };

    bool leaves(const Look& look, const std::string& holder, const std::string& resource, bool at_once);

    Limits limits_;
    std::unordered_map<std::string, Resources, Hash, std::equal_to<>> by_holder_;
    std::vector<std::string> crowded_;  // holders that have too many
    std::size_t size_ = 0;
    Instant next_look_{};
};

}  // namespace holdfast::redis_engine
