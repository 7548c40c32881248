#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lease/resource.h"
#include "store/redis/stored.h"

namespace holdfast::redis_engine {

/// Records are found by sorted sets of names: one for each holder, one for each folder above a file or tree, and 16 of
/// what is due when. They name records before these are written and for longer than they last, so that what is there is
/// always found, and what is found may not be there.
inline constexpr Micros covered_ahead = 600'000'000;  ///< beyond the record's end, so that renewals need not write it
/// A folder further down has no set of its own: what lies there is in that of the last one that has. A path of 2,000
/// parts shall not cost 2,000 writes.
inline constexpr std::size_t folder_depth_most = 64;

/// The folders above a path that have a set, from the root on; of a tree, not the folder that it is.
std::vector<std::string_view> folders_above(std::string_view path);
/// The folder in whose set everything below this one is.
std::string_view folder_with_set(std::string_view folder);

/// What the sorted sets are known to say of a record.
struct Indexed {
    struct Holder {
        std::string name;
        Micros until = 0;        ///< as seen
        std::int64_t score = 0;  ///< as it is in the set
    };
    std::vector<Holder> holders{};  ///< by name
    Micros folders_until = 0;
    Micros due = 0;  ///< 0: in no set
};

/// What is known of the records that this front wrote last, by that write: if a record still shows it, nobody has
/// written the record since, and nobody has taken it out of a set. Bounded: what was used longest ago is forgotten, and
/// then written once more.
class IndexMemory {
 public:
    struct Limits {
        std::size_t entries = 200'000;
        std::size_t bytes = 64 << 20;
    };
    explicit IndexMemory(Limits limits) : limits_(limits) {}

    /// Takes it out; empty if nothing is known.
    Indexed take(WriteId write);
    void put(WriteId write, Indexed indexed);
    void clear();
    std::size_t size() const { return young_.size() + old_.size(); }

 private:
    using Map = std::unordered_map<WriteId, Indexed>;

    Limits limits_;
    Map young_, old_;  // when one is as full as half of the limits, the other is forgotten
    std::size_t young_bytes_ = 0;
};

}  // namespace holdfast::redis_engine
