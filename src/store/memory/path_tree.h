#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "lease/record.h"
#include "store/memory/buckets.h"
#include "store/memory/number_set.h"
#include "store/memory/slots.h"

namespace holdfast::store::memory {

/// A summary of a record that tells whether it may conflict with others: one bit for each predicate of its leases,
/// reservations and waiters, and one if it has waiters. Renewals do not change it.
using Marks = std::uint8_t;
inline constexpr Marks mark_waiting = 1U << lease::all_predicates.size();

Marks marks_of(const lease::Record& record);
/// The marks of the predicates that conflict with this one (G2).
Marks marks_against(lease::Predicate predicate);

/// Finds the records of `FILE:` resources that overlap with a resource (lease/resource.h): a tree of folders with the
/// records that have any marks. A search costs the depth of the path plus the number of results, independent of the
/// number of records (docs/decisions/0007-trees.md). Folders without records of their own and with only one inner
/// folder are merged with it. So there are at most twice as many folders as records, and a path of two thousand parts
/// costs only its bytes.
class PathTree {
 public:
    explicit PathTree(HashKey key);

    /// Changes the marks of the record of this resource, in this slot. REQUIRES: `before` is the last `after`; zero at
    /// first.
    struct Change {
        Marks before = 0;
        Marks after = 0;
    };
    void mark(std::string_view resource, SlotId id, Change change);

    /// Calls `show` once with the slot of each record that overlaps with the resource and has one of the wanted marks:
    /// first the trees that contain it, from the top down, then the records below it. Stops when `show` returns false.
    /// REQUIRES: the tree does not change meanwhile.
    using Show = std::function<bool(SlotId id)>;
    void visit(std::string_view resource, Marks wanted, const Show& show) const;

    /// True if visit() would find nothing for any resource.
    bool is_empty() const { return folders_.front().marks == 0; }

    /// For tests: the number of folders, and the number of folders and files read by all visits so far.
    std::size_t folders() const { return folders_.size() - free_.size() - 1; }
    std::size_t looked_at() const { return looked_at_; }

 private:
    struct Folder {
        std::string label;  ///< its path relative to its parent, with a slash after each part
        Folder* parent = nullptr;
        NumberSet inner;  ///< the numbers of its inner folders, listed under each of their marks
        NumberSet files;  ///< the slots of the files directly in it, listed under each of their marks
        std::uint32_t number = 0;
        std::uint32_t inner_count = 0;
        std::uint32_t hash = 0;   ///< of its parent and the first part of its label
        std::uint32_t chain = 0;  ///< the next folder in the same bucket
        SlotId tree = 0;          ///< the slot of the record of the tree below it
        Marks tree_marks = 0;
        Marks marks = 0;  ///< of all records at or below it

        bool has_records() const { return tree != 0 || !files.empty(); }
        Marks own_and_inner(Marks asked) const;
    };

    Folder& at(std::uint32_t number) { return folders_[number]; }
    const Folder& at(std::uint32_t number) const { return folders_[number]; }
    std::uint32_t hash(const Folder& parent, std::string_view part) const;
    /// The inner folder of `parent` whose label begins with the first part of the path, or nullptr.
    const Folder* inner_on(const Folder& parent, std::string_view path) const;
    void put_in(Folder& parent, Folder& folder);
    void take_out(Folder& folder);
    void link(Folder& folder);
    Folder& make(Folder& parent, std::string label);
    void drop(Folder& folder);

    Folder& folder_for(std::string_view path);
    Folder& split(Folder& folder, std::size_t label_bytes);
    void refresh(Folder& folder, Marks changed);
    void prune(Folder& folder);
    void merge_into_only_inner(Folder& folder);
    void search(const Folder& top, bool with_its_tree, Marks wanted, const Show& show) const;
    bool show_files(const Folder& folder, Marks wanted, const Show& show) const;

    HashKey key_;
    Buckets buckets_;             // folders by parent and first part
    std::deque<Folder> folders_;  // by number; the first is the root
    std::vector<std::uint32_t> free_;
    std::size_t trees_ = 0;
    mutable std::size_t looked_at_ = 0;
};

}  // namespace holdfast::store::memory
