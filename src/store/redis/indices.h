#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "lease/resource.h"
#include "store/redis/stored.h"

namespace holdfast::store::redis {

/// Records are indexed by sorted sets of names: one per holder, one per folder above a file or tree, and 16 of due
/// times. A set names a record before the record is written and for longer than the record lasts. So every existing
/// record is found, and a name that is found may have no record.
///
/// A front remembers, by resource, which entries it wrote, and does not write them again. That memory stays valid if
/// another front writes the record, and while there is no record, because no front removes an entry that another relies
/// on:
///
/// - *Holders.* The score of an entry is the time until which it stays. Fronts give even scores. A front that finds an
///   entry that it did not write makes the score odd and no smaller: nobody drops an odd entry, it expires. Only the
///   front that gave an even score drops the entry, and only if it still has that score.
/// - *Folders.* Nobody drops their entries.
/// - *Due.* An entry belongs to one front and carries its name, so no other front makes it earlier. A front that looks
///   for overdue records takes entries `overdue_after` their time, reads the records, and then moves or removes the
///   entries. Until then an entry stays where its front put it, and a record written by then is seen. A front relies
///   only on an entry whose time is later than the time at which the write that needs it can take effect. It is then
///   harmless if the record was gone, or had another end, when the entry was taken: that was later.
inline constexpr Micros covered_ahead = 600'000'000;  ///< past the record's end, so that renewals need not write it
inline constexpr Duration overdue_after = 2s;
/// Deeper folders have no set of their own: their contents are in the set of the deepest ancestor that has one. A path
/// of 2,000 parts must not cost 2,000 writes.
inline constexpr std::size_t max_folder_depth = 64;

/// The folders above a path that have a set, from the root down. For a tree, its own folder is not included.
std::vector<std::string_view> folders_above(std::string_view path);
/// The folder whose set contains everything below this one.
std::string_view folder_with_set(std::string_view folder);

/// What the sorted sets are known to contain about a resource.
struct Indexed {
    struct Holder {
        std::string name;
        Micros until = 0;        ///< as last seen
        std::int64_t score = 0;  ///< as this front set it
        bool held = false;       ///< in the record that this front last wrote or may have written
        bool waits = false;      ///< queued to be dropped (FreedHolders)
        Instant freed_at{};      ///< if not held
    };
    std::vector<Holder> holders{};  ///< by name
    Micros folders_until = 0;
    Micros due = 0;           ///< 0: in no set, or unknown
    unsigned swaps = 0;       ///< in flight that rely on this
    std::size_t waiting = 0;  ///< holders queued to be dropped

    Holder* find(std::string_view holder);
    Holder& insert(std::string_view holder);
    void erase(const Holder* holder);
    bool is_needed() const { return swaps > 0 || waiting > 0; }
};

/// What is known about resources, by name. Bounded: the least recently used entries that are not needed are forgotten,
/// and their index entries are then written again.
class IndexMemory {
 public:
    struct Limits {
        std::size_t entries = 200'000;
        std::size_t bytes = 64 << 20;
    };
    IndexMemory(Limits limits, HashKey key);

    /// The reference stays valid while the entry is needed and clear() is not called.
    Indexed& use(std::string_view name);
    Indexed* find(std::string_view name);
    Indexed::Holder& add_holder(Indexed& indexed, std::string_view holder);
    void clear();
    /// Changes whenever everything is forgotten.
    std::uint64_t life() const { return life_; }
    std::size_t size() const { return young_.size() + old_.size(); }

 private:
    using Map = TextMap<Indexed>;

    void make_room();

    Limits limits_;
    Map young_, old_;  // when young_ reaches half of the limits it becomes old_, and old_ is forgotten
    std::size_t young_bytes_ = 0;
    std::uint64_t life_ = 1;
};

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
    explicit FreedHolders(Limits limits, HashKey key) : limits_(limits), by_holder_(make_text_map<Resources>(key)) {}

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
    struct Look {
        IndexMemory& memory;
        Instant now;
        std::vector<Dropped>& out;
    };

    bool leaves(const Look& look, const std::string& holder, const std::string& resource, bool at_once);

    Limits limits_;
    TextMap<Resources> by_holder_;
    std::vector<std::string> crowded_;  // holders that have too many
    std::size_t size_ = 0;
    Instant next_look_{};
};

}  // namespace holdfast::store::redis
