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

namespace holdfast::core {

/// What others must know of a record to tell whether it can matter to them: one bit for each predicate of a lease, a
/// reservation or a waiter in it, and one if it has waiters at all. Renewals leave it as it is.
using Marks = std::uint8_t;
inline constexpr Marks mark_waiting = 1U << all_predicates.size();

Marks marks_of(const Record& record);
/// The marks of the predicates that conflict with this one (G2).
Marks marks_against(Predicate predicate);

/// Which records of `FILE:` resources overlap with one (lease/resource.h): a tree of folders with the records that
/// have any marks. Finding them costs the depth of the path and what is found, never the number of records
/// (docs/decisions/0007-trees.md). Folders without a record of their own and with one folder in them are not kept, so
/// there are at most twice as many as records, and a path of two thousand parts costs its bytes.
class PathTree {
 public:
    explicit PathTree(HashKey key);

    /// The record of this resource, in this slot, has other marks than it had. REQUIRES: `before` is what it was told
    /// last; zero at first.
    struct Change {
        Marks before = 0;
        Marks after = 0;
    };
    void mark(std::string_view resource, SlotId id, Change change);

    /// Shows the slot of each record that overlaps with the resource and has one of the wanted marks, once: the trees
    /// around it from the top down, then what lies below it. Ends when `show` returns false. The tree must not change
    /// meanwhile.
    using Show = std::function<bool(SlotId id)>;
    void visit(std::string_view resource, Marks wanted, const Show& show) const;

    /// True if visit() would show nothing, whatever it was asked.
    bool is_empty() const { return folders_.front().marks == 0; }

    /// How many folders are kept, and how many folders and files all visits so far have looked at: for tests.
    std::size_t folders() const { return folders_.size() - free_.size() - 1; }
    std::size_t looked_at() const { return looked_at_; }

 private:
    struct Folder {
        std::string label;  ///< the parts of its path that its parent does not have, each with a slash behind it
        Folder* parent = nullptr;
        NumberSet inner;  ///< the numbers of the folders in it under each of their marks; each has some
        NumberSet files;  ///< the slots of the files directly in it under each of their marks
        std::uint32_t number = 0;
        std::uint32_t inner_count = 0;
        std::uint32_t hash = 0;   ///< of its parent and the first part of its label
        std::uint32_t chain = 0;  ///< the next of the same bucket
        SlotId tree = 0;          ///< the record of the tree below it
        Marks tree_marks = 0;
        Marks marks = 0;  ///< of all records at or below it

        bool has_records() const { return tree != 0 || !files.empty(); }
        Marks own_and_inner(Marks asked) const;
    };

    Folder& at(std::uint32_t number) { return folders_[number]; }
    const Folder& at(std::uint32_t number) const { return folders_[number]; }
    std::uint32_t hash(const Folder& parent, std::string_view part) const;
    /// The folder in this one that a path leads to, or nullptr.
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
    Buckets buckets_;             // of folders, by parent and first part
    std::deque<Folder> folders_;  // by number; the first is the root of all
    std::vector<std::uint32_t> free_;
    std::size_t trees_ = 0;
    mutable std::size_t looked_at_ = 0;
};

}  // namespace holdfast::core
