#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "lease/resource.h"
#include "store/redis/stored.h"

namespace holdfast::redis_engine {

/// Records are found by sorted sets of names: one for each holder, one for each folder above a file or tree, and 16 of
/// what is due when. They name records before these are written and for longer than they last, so that what is there is
/// always found, and what is found may not be there.
///
/// A front remembers what it wrote to them, by resource, and writes none of it again. That stays true whoever writes
/// the record meanwhile, and while there is none, because no front takes away what another relies on:
///
/// - *Holders.* The score of an entry says until when it stays. Fronts give even ones. A front that finds an entry that
///   it did not write itself makes the score odd and no smaller: nobody drops such an entry, it goes when its time is
///   over. Only the front that gave an even score drops the entry, and only if it still has that score.
/// - *Folders.* Nobody drops their entries.
/// - *Due.* An entry is of one front, and named after it, so that nobody else makes it earlier. Whoever looks for what
///   is overdue takes entries `overdue_after` their time, reads the records, and then moves or removes the entries. So
///   an entry stays where its front put it until then, and a record that was written by then is seen. A front relies on
///   an entry that reaches beyond the time at which the write that needs it can take effect, and on no other. That the
///   record was gone, or had another end, when the entry was taken does no harm then: that was later.
inline constexpr Micros covered_ahead = 600'000'000;  ///< beyond the record's end, so that renewals need not write it
inline constexpr Duration overdue_after = 2s;
/// A folder further down has no set of its own: what lies there is in that of the last one that has. A path of 2,000
/// parts shall not cost 2,000 writes.
inline constexpr std::size_t max_folder_depth = 64;

/// The folders above a path that have a set, from the root on; of a tree, not the folder that it is.
std::vector<std::string_view> folders_above(std::string_view path);
/// The folder in whose set everything below this one is.
std::string_view folder_with_set(std::string_view folder);

/// What the sorted sets are known to say of a resource.
struct Indexed {
    struct Holder {
        std::string name;
        Micros until = 0;        ///< as seen
        std::int64_t score = 0;  ///< as this front gave it
        bool held = false;       ///< in the record that this front wrote last, or may have written
        bool waits = false;      ///< among what is to be dropped (FreedHolders)
        Instant freed_at{};      ///< if it is not held
    };
    std::vector<Holder> holders{};  ///< by name
    Micros folders_until = 0;
    Micros due = 0;           ///< 0: in no set, or nobody knows when
    unsigned swaps = 0;       ///< under way, which rely on it
    std::size_t waiting = 0;  ///< holders that wait to be dropped

    Holder* find(std::string_view holder);
    Holder& insert(std::string_view holder);
    void erase(const Holder* holder);
    bool is_needed() const { return swaps > 0 || waiting > 0; }
};

/// What is known of resources, by their names. Bounded: what was used longest ago, and is not needed, is forgotten, and
/// then written once more.
class IndexMemory {
 public:
    struct Limits {
        std::size_t entries = 200'000;
        std::size_t bytes = 64 << 20;
    };
    IndexMemory(Limits limits, HashKey key);

    /// Stays where it is while it is needed and nothing is cleared.
    Indexed& use(std::string_view name);
    Indexed* find(std::string_view name);
    Indexed::Holder& add_holder(Indexed& indexed, std::string_view holder);
    void clear();
    /// Differs when everything was forgotten since.
    std::uint64_t life() const { return life_; }
    std::size_t size() const { return young_.size() + old_.size(); }

 private:
    struct Hash {
        using is_transparent = void;
        HashKey key;
        std::size_t operator()(std::string_view text) const { return hash_place(key, text); }
    };
    using Map = std::unordered_map<std::string, Indexed, Hash, std::equal_to<>>;

    void make_room();

    Limits limits_;
    Map young_, old_;  // when one is as full as half of the limits, the other is forgotten
    std::size_t young_bytes_ = 0;
    std::uint64_t life_ = 1;
};

}  // namespace holdfast::redis_engine
