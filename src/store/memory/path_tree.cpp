#include "store/memory/path_tree.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "lease/resource.h"

namespace holdfast::store::memory {
namespace {

/// Numbers are listed by mark: the mark is in the highest bits.
constexpr unsigned number_bits = 29;
constexpr unsigned mark_count = lease::all_predicates.size() + 1;
static_assert(mark_count <= 1U << (32 - number_bits));

constexpr std::uint32_t key(unsigned mark, std::uint32_t number) {
    return mark << number_bits | number;
}
constexpr std::uint32_t number_of(std::uint32_t listed) {
    return listed & ((1U << number_bits) - 1);
}

constexpr int mark_in(std::uint32_t listed) {
    return static_cast<int>(listed >> number_bits);
}

template <class Visit>
void for_each_mark(Marks marks, Visit&& visit) {
    for (unsigned rest = marks; rest != 0; rest &= rest - 1)
        visit(static_cast<unsigned>(std::countr_zero(rest)));
}

bool lists(const NumberSet& numbers, unsigned mark) {
    const auto first = numbers.at_or_after(key(mark, 0));
    return first && *first >> number_bits == mark;
}

/// The first entry at or after `from` under one of the wanted marks.
std::optional<std::uint32_t> next_listed(const NumberSet& numbers, std::uint32_t from, Marks wanted) {
    for (unsigned mark = from >> number_bits; mark < mark_count; ++mark) {
        if ((wanted >> mark & 1U) == 0) continue;
        const auto found = numbers.at_or_after(std::max(from, key(mark, 0)));
        if (!found) return std::nullopt;
        if (*found >> number_bits == mark) return found;
    }
    return std::nullopt;
}

void relist(NumberSet& numbers, std::uint32_t number, PathTree::Change change) {
    for_each_mark(change.before & ~change.after, [&](unsigned mark) { numbers.erase(key(mark, number)); });
    for_each_mark(change.after & ~change.before, [&](unsigned mark) { numbers.insert(key(mark, number)); });
}

std::string_view first_part(std::string_view path) {
    return path.substr(0, path.find('/') + 1);
}

/// The place of a resource in the tree. The path of a folder has a slash after every part, so that one folder contains
/// another if its path is a prefix of the other's.
struct PathPlace {
    std::string_view folder;
    bool tree = false;
};

/// Returns nullopt for a resource that no tree can overlap with.
std::optional<PathPlace> place_of(std::string_view resource) {
    const auto path = lease::file_path(resource);
    if (!path) return std::nullopt;
    if (path->tree) return PathPlace{resource.substr(0, path->scope.size() + path->path.size() + 1), true};
    const std::size_t slash = path->path.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    return PathPlace{resource.substr(0, path->scope.size() + slash + 1), false};
}

}  // namespace

Marks marks_of(const lease::Record& record) {
    Marks marks = record.waiters.empty() ? 0 : mark_waiting;
    const auto add = [&](lease::Predicate predicate) {
        marks |= static_cast<Marks>(1U << static_cast<unsigned>(predicate));
    };
    for (const lease::Lease& lease : record.leases)
        add(lease.predicate);
    for (const lease::Reservation& kept : record.reserved)
        add(kept.lease.predicate);
    for (const lease::Waiter& waiter : record.waiters)
        add(waiter.predicate);
    return marks;
}

Marks marks_against(lease::Predicate predicate) {
    Marks marks = 0;
    for (const lease::Predicate other : lease::all_predicates)
        if (!lease::compatible(predicate, other)) marks |= static_cast<Marks>(1U << static_cast<unsigned>(other));
    return marks;
}

Marks PathTree::Folder::own_and_inner(Marks asked) const {
    Marks found = tree_marks & asked;
    for_each_mark(asked & ~found, [&](unsigned mark) {
        if (lists(files, mark) || lists(inner, mark)) found |= static_cast<Marks>(1U << mark);
    });
    return found;
}

PathTree::PathTree(HashKey key) : key_(key) {
    folders_.emplace_back();
}

void PathTree::mark(std::string_view resource, SlotId id, Change change) {
    if (change.before == change.after) return;
    const auto place = place_of(resource);
    if (!place) return;
    HOLDFAST_ASSERT(id < 1U << number_bits);
    Folder& folder = folder_for(place->folder);
    if (place->tree) {
        trees_ += static_cast<std::size_t>(change.after != 0) - static_cast<std::size_t>(change.before != 0);
        folder.tree = change.after != 0 ? id : 0;
        folder.tree_marks = change.after;
    } else {
        relist(folder.files, id, change);
    }
    refresh(folder, change.before ^ change.after);
    prune(folder);
}

/// Finds the folder, or creates it, and also a common parent if it shares only part of a label.
PathTree::Folder& PathTree::folder_for(std::string_view path) {
    Folder* folder = &at(0);
    while (!path.empty()) {
        const Folder* found = inner_on(*folder, path);
        if (found == nullptr) return make(*folder, std::string(path));
        Folder* next = &at(found->number);
        if (!path.starts_with(next->label)) {
            const auto apart = std::mismatch(path.begin(), path.end(), next->label.begin(), next->label.end()).first;
            const auto common = static_cast<std::size_t>(apart - path.begin());
            next = &split(*next, path.substr(0, common).rfind('/') + 1);
        }
        path.remove_prefix(next->label.size());
        folder = next;
    }
    return *folder;
}

std::uint32_t PathTree::hash(const Folder& parent, std::string_view part) const {
    return static_cast<std::uint32_t>((hash_text(key_, part) + parent.number) * 0x9e37'79b9'7f4a'7c15 >> 32);
}

const PathTree::Folder* PathTree::inner_on(const Folder& parent, std::string_view path) const {
    const std::string_view part = first_part(path);
    const std::uint32_t hashed = hash(parent, part);
    for (std::uint32_t number = buckets_.head(hashed); number != 0; number = at(number).chain) {
        const Folder& folder = at(number);
        if (folder.hash == hashed && folder.parent == &parent && first_part(folder.label) == part) return &folder;
    }
    return nullptr;
}

void PathTree::link(Folder& folder) {
    std::uint32_t& head = buckets_.head(folder.hash);
    folder.chain = head;
    head = folder.number;
}

void PathTree::put_in(Folder& parent, Folder& folder) {
    folder.parent = &parent;
    folder.hash = hash(parent, first_part(folder.label));
    ++parent.inner_count;
    relist(parent.inner, folder.number, {0, folder.marks});
    link(folder);
    buckets_.grow_for(folders(), [&](std::uint32_t& head) {
        std::uint32_t next = std::exchange(head, 0);
        while (next != 0) {
            Folder& moving = at(next);
            next = moving.chain;
            link(moving);
        }
    });
}

void PathTree::take_out(Folder& folder) {
    std::uint32_t* chained = &buckets_.head(folder.hash);
    while (*chained != folder.number)
        chained = &at(*chained).chain;
    *chained = folder.chain;
    relist(folder.parent->inner, folder.number, {folder.marks, 0});
    --folder.parent->inner_count;
}

PathTree::Folder& PathTree::make(Folder& parent, std::string label) {
    auto number = static_cast<std::uint32_t>(folders_.size());
    if (free_.empty()) {
        HOLDFAST_ASSERT(number < 1U << number_bits);
        folders_.emplace_back();
    } else {
        number = free_.back();
        free_.pop_back();
    }
    Folder& made = at(number);
    made.number = number;
    made.label = std::move(label);
    put_in(parent, made);
    return made;
}

/// REQUIRES: take_out() was called for it.
void PathTree::drop(Folder& folder) {
    free_.push_back(folder.number);
    folder = Folder{};
}

/// Inserts a folder between this one and its parent, with the first `label_bytes` of its label.
PathTree::Folder& PathTree::split(Folder& folder, std::size_t label_bytes) {
    Folder& parent = *folder.parent;
    take_out(folder);
    Folder& between = make(parent, folder.label.substr(0, label_bytes));
    folder.label = folder.label.substr(label_bytes);  // erase() would keep the whole capacity
    put_in(between, folder);
    between.marks = folder.marks;
    relist(parent.inner, between.number, {0, between.marks});
    return between;
}

/// Updates the marks of the folder and of its parents, as far up as they change.
void PathTree::refresh(Folder& folder, Marks changed) {
    for (Folder* at = &folder; at != nullptr && changed != 0; at = at->parent) {
        const Marks before = at->marks;
        at->marks = static_cast<Marks>((before & ~changed) | at->own_and_inner(changed));
        if (at->parent != nullptr) relist(at->parent->inner, at->number, {before, at->marks});
        changed = before ^ at->marks;
    }
}

/// Removes the folder, and its parent, if they are no longer needed.
void PathTree::prune(Folder& folder) {
    if (folder.has_records() || folder.inner_count > 1) return;
    if (folder.inner_count == 1) return merge_into_only_inner(folder);
    Folder& parent = *folder.parent;
    take_out(folder);
    drop(folder);
    const bool needed = parent.parent == nullptr || parent.has_records() || parent.inner_count > 1;
    if (!needed) merge_into_only_inner(parent);
}

void PathTree::merge_into_only_inner(Folder& folder) {
    Folder& parent = *folder.parent;
    Folder& only = at(number_of(*folder.inner.at_or_after(0)));
    take_out(only);
    take_out(folder);
    only.label.insert(0, folder.label);
    put_in(parent, only);
    drop(folder);
}

void PathTree::visit(std::string_view resource, Marks wanted, const Show& show) const {
    if ((at(0).marks & wanted) == 0) return;
    const auto place = place_of(resource);
    if (!place || (!place->tree && trees_ == 0)) return;
    const Folder* folder = &at(0);
    for (std::string_view path = place->folder; !path.empty();) {
        folder = inner_on(*folder, path);
        if (folder == nullptr) return;
        ++looked_at_;
        if (!path.starts_with(folder->label)) {
            // The tree's own folder does not exist. If this folder lies in it, all others in it are below this one.
            if (place->tree && folder->label.starts_with(path)) search(*folder, true, wanted, show);
            return;
        }
        path.remove_prefix(folder->label.size());
        const bool itself = place->tree && path.empty();
        if (!itself && (folder->tree_marks & wanted) != 0 && !show(folder->tree)) return;
    }
    if (place->tree) search(*folder, false, wanted, show);
}

/// Shows the records at and below a folder. Enters only folders with wanted marks. Uses an explicit stack, not
/// recursion: paths may be two thousand parts deep.
void PathTree::search(const Folder& top, bool with_its_tree, Marks wanted, const Show& show) const {
    if (with_its_tree && (top.tree_marks & wanted) != 0 && !show(top.tree)) return;
    if (!show_files(top, wanted, show)) return;
    struct Step {
        const Folder* folder;
        std::uint32_t next;
    };
    std::vector<Step> way{{&top, 0}};
    while (!way.empty()) {
        Step& step = way.back();
        const auto listed = next_listed(step.folder->inner, step.next, wanted);
        if (!listed) {
            way.pop_back();
            continue;
        }
        step.next = *listed + 1;
        const Folder& inner = at(number_of(*listed));
        ++looked_at_;
        // It is listed under each of its marks: visit it only at the first wanted one.
        if (std::countr_zero(static_cast<unsigned>(inner.marks & wanted)) != mark_in(*listed)) continue;
        if ((inner.tree_marks & wanted) != 0 && !show(inner.tree)) return;
        if (!show_files(inner, wanted, show)) return;
        way.push_back({&inner, 0});
    }
}

bool PathTree::show_files(const Folder& folder, Marks wanted, const Show& show) const {
    for (auto listed = next_listed(folder.files, 0, wanted); listed;
         listed = next_listed(folder.files, *listed + 1, wanted)) {
        ++looked_at_;
        const SlotId id = number_of(*listed);
        bool shown = false;
        for_each_mark(static_cast<Marks>(wanted & ((1U << mark_in(*listed)) - 1)),
                      [&](unsigned mark) { shown = shown || folder.files.contains(key(mark, id)); });
        if (!shown && !show(id)) return false;
    }
    return true;
}

}  // namespace holdfast::store::memory
