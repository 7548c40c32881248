#include "store/memory/path_tree.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

#include "lease/resource.h"

namespace holdfast::store::memory {
namespace {

constexpr Marks mark_of(lease::Predicate predicate) {
    return static_cast<Marks>(1U << static_cast<unsigned>(predicate));
}
constexpr Marks mutates = mark_of(lease::Predicate::mutates);
constexpr Marks consumes = mark_of(lease::Predicate::consumes);

/// A path tree, and beside it all names with their marks, searched one by one with overlap().
class Twin {
 public:
    void mark(const std::string& resource, Marks marks) {
        auto [entry, fresh] = all_.try_emplace(resource, Entry{next_, 0});
        if (fresh) ++next_;
        tree.mark(resource, entry->second.id, {entry->second.marks, marks});
        entry->second.marks = marks;
        if (marks == 0) all_.erase(entry);
    }

    std::vector<std::string> expected(const std::string& resource, Marks wanted) const {
        std::vector<std::string> names;
        const auto path = lease::file_path(resource);
        for (const auto& [name, entry] : all_) {
            const auto other = lease::file_path(name);
            if (path && other && overlap(*path, *other) && (entry.marks & wanted) != 0) names.push_back(name);
        }
        return names;  // a map is in order
    }

    /// As the tree shows them; a name that is shown twice is there twice.
    std::vector<std::string> found(const std::string& resource, Marks wanted) const {
        std::vector<std::string> names;
        tree.visit(resource, wanted, [&](SlotId id) {
            for (const auto& [name, entry] : all_)
                if (entry.id == id) names.push_back(name);
            return true;
        });
        std::sort(names.begin(), names.end());
        return names;
    }

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& [name, entry] : all_)
            all.push_back(name);
        return all;
    }

    PathTree tree{{3, 4}};

 private:
    struct Entry {
        SlotId id;
        Marks marks;
    };
    std::map<std::string, Entry> all_;
    SlotId next_ = 1;
};

/// Names from few parts, so that they overlap a lot; some are no files, some lie in another namespace, some are not in
/// any folder.
rc::Gen<std::string> resource_name() {
    const auto part = rc::gen::element<std::string>("a", "b", "ab", "a.c", "", "long-part-of-a-path");
    return rc::gen::map(rc::gen::tuple(rc::gen::element<std::string>("FILE:", "FILE:/", "@red/FILE:/",
                                                                     "@red/FILE:", "SYMBOL:/", "FILE:/a/b/"),
                                       rc::gen::resize(5, rc::gen::container<std::vector<std::string>>(part)),
                                       rc::gen::element<std::string>("", "/**")),
                        [](const std::tuple<std::string, std::vector<std::string>, std::string>& made) {
                            std::string name = std::get<0>(made);
                            for (const std::string& one : std::get<1>(made))
                                name += name.back() == ':' || name.back() == '/' ? one : "/" + one;
                            return name + std::get<2>(made);
                        });
}

RC_GTEST_PROP(PathTree, shows_exactly_what_overlaps_each_once, ()) {
    Twin twin;
    const auto changes = *rc::gen::container<std::vector<std::pair<std::string, Marks>>>(
        rc::gen::pair(resource_name(), rc::gen::inRange<Marks>(0, 128)));
    for (const auto& [name, marks] : changes) {
        // Half of what comes is on its way out again.
        twin.mark(name, *rc::gen::arbitrary<bool>() ? marks : Marks{0});
        const auto asked = *resource_name();
        const auto wanted = *rc::gen::inRange<Marks>(1, 128);
        RC_ASSERT(twin.found(asked, wanted) == twin.expected(asked, wanted));
        RC_ASSERT(twin.found(name, wanted) == twin.expected(name, wanted));
    }
    for (const std::string& name : twin.names())
        twin.mark(name, 0);
    RC_ASSERT(twin.tree.folders() == 0U);
}

TEST(PathTree, shows_trees_around_from_the_top_down_and_then_what_lies_below) {
    Twin twin;
    for (const char* name : {"FILE:/a/b/c/x", "FILE:/a/b/**", "FILE:/**", "FILE:/a/b/c/**", "FILE:/a/**"})
        twin.mark(name, mutates);
    std::vector<SlotId> shown;
    twin.tree.visit("FILE:/a/b/**", mutates, [&](SlotId id) {
        shown.push_back(id);
        return true;
    });
    EXPECT_EQ(shown, (std::vector<SlotId>{3, 5, 4, 1}));
}

TEST(PathTree, stops_when_nobody_wants_to_see_more) {
    Twin twin;
    for (int i = 0; i < 100; ++i)
        twin.mark("FILE:/a/" + std::to_string(i % 10) + "/" + std::to_string(i), mutates);
    for (const std::size_t most : {1U, 5U, 30U}) {
        std::size_t shown = 0;
        twin.tree.visit("FILE:/a/**", mutates, [&](SlotId) { return ++shown < most; });
        EXPECT_EQ(shown, most);
    }
}

TEST(PathTree, keeps_no_folder_that_nothing_needs) {
    Twin twin;
    twin.mark("FILE:/a/b/c/d/e", mutates);
    EXPECT_EQ(twin.tree.folders(), 1U) << "a way without branches is one folder";
    twin.mark("FILE:/a/b/x/y", mutates);
    EXPECT_EQ(twin.tree.folders(), 3U) << "the two, and where they part";
    twin.mark("FILE:/a/b/x/y", consumes);
    EXPECT_EQ(twin.tree.folders(), 3U);
    twin.mark("FILE:/a/b/x/y", 0);
    EXPECT_EQ(twin.tree.folders(), 1U);
    twin.mark("FILE:/a/b/c/d/e", 0);
    EXPECT_EQ(twin.tree.folders(), 0U);
    twin.mark("plain", mutates);
    twin.mark("FILE:plain", mutates);
    EXPECT_EQ(twin.tree.folders(), 0U) << "no tree can overlap with these";
}

/// How much one visit looks at.
std::size_t work(const PathTree& tree, std::string_view resource, Marks wanted) {
    const std::size_t before = tree.looked_at();
    tree.visit(resource, wanted, [](SlotId) { return true; });
    return tree.looked_at() - before;
}

TEST(PathTree, looks_at_no_more_when_there_are_more_unrelated_or_compatible_records) {
    PathTree tree{{3, 4}};
    SlotId next = 1;
    const auto add = [&](const std::string& resource, Marks marks) { tree.mark(resource, next++, {0, marks}); };
    add("FILE:/work/deep/down/**", consumes);
    add("FILE:/work/wide/one", mutates);
    add("FILE:/work/far/one/two/x", mutates);
    const auto crowd = [&](int from, int to) {
        for (int i = from; i < to; ++i) {
            const std::string number = std::to_string(i);
            add("FILE:/work/wide/" + number, consumes);                     // many files in one folder
            add("FILE:/work/far/" + number + "/x", consumes);               // many folders in one folder
            add("FILE:/elsewhere/" + number + "/x", mutates);               // elsewhere
            add("@other/FILE:/work/deep/down/" + number + "/**", mutates);  // in another namespace
        }
    };
    crowd(0, 10);
    const std::size_t file = work(tree, "FILE:/work/deep/down/here", mutates | consumes);
    const std::size_t all = work(tree, "FILE:/work/**", mutates);
    EXPECT_LE(file, 10U);
    EXPECT_LE(all, 10U);
    crowd(10, 50'000);
    EXPECT_EQ(work(tree, "FILE:/work/deep/down/here", mutates | consumes), file);
    EXPECT_EQ(work(tree, "FILE:/work/**", mutates), all);
    EXPECT_GE(work(tree, "FILE:/work/**", consumes), 100'000U) << "the counter counts";
}

TEST(PathTree, looks_at_nothing_for_a_file_while_there_are_no_trees) {
    PathTree tree{{3, 4}};
    tree.mark("FILE:/a/b/x", 1, {0, mutates});
    EXPECT_EQ(work(tree, "FILE:/a/b/y", mutates), 0U);
    tree.mark("FILE:/z/**", 2, {0, mutates});
    EXPECT_GT(work(tree, "FILE:/a/b/y", mutates), 0U);
    tree.mark("FILE:/z/**", 2, {mutates, consumes});
    tree.mark("FILE:/z/**", 2, {consumes, 0});
    EXPECT_EQ(work(tree, "FILE:/a/b/y", mutates), 0U);
    EXPECT_EQ(work(tree, "FILE:/a/**", consumes), 0U) << "nor for a tree while nobody has what it looks for";
}

TEST(PathTree, takes_paths_of_two_thousand_parts_at_the_cost_of_their_branches) {
    PathTree tree{{3, 4}};
    std::string path = "FILE:";
    while (path.size() + 2 <= lease::limits::resource_bytes - 5)
        path += "/d";
    // Each parts from the others at a folder of its own.
    const auto branch = [&](std::size_t i) { return path.substr(0, path.size() - 2 * i) + "/" + std::to_string(i); };
    for (std::size_t i = 0; i < 1000; ++i)
        tree.mark(branch(i), static_cast<SlotId>(i + 1), {0, mutates});
    EXPECT_LE(tree.folders(), 2000U);
    std::size_t shown = 0;
    tree.visit("FILE:/d/**", mutates, [&](SlotId) { return ++shown > 0; });
    EXPECT_EQ(shown, 1000U);
    for (std::size_t i = 0; i < 1000; ++i)
        tree.mark(branch(i), static_cast<SlotId>(i + 1), {mutates, 0});
    EXPECT_EQ(tree.folders(), 0U);
}

TEST(Marks, say_what_is_in_a_record) {
    lease::Record record;
    EXPECT_EQ(marks_of(record), 0U);
    record.leases.resize(2);
    record.leases[0].predicate = lease::Predicate::consumes;
    record.leases[1].predicate = lease::Predicate::depends_on;
    EXPECT_EQ(marks_of(record), consumes | mark_of(lease::Predicate::depends_on));
    record.reserved.resize(1);
    record.reserved[0].lease.predicate = lease::Predicate::renames;
    record.waiters.resize(1);
    record.waiters[0].predicate = lease::Predicate::deletes;
    EXPECT_EQ(marks_of(record), consumes | mark_of(lease::Predicate::depends_on) | mark_of(lease::Predicate::renames) |
                                    mark_of(lease::Predicate::deletes) | mark_waiting);
}

TEST(Marks, against_a_predicate_are_those_of_all_that_conflict_with_it) {
    for (const lease::Predicate predicate : lease::all_predicates)
        for (const lease::Predicate other : lease::all_predicates)
            EXPECT_EQ((marks_against(predicate) & mark_of(other)) != 0, !lease::compatible(predicate, other));
}

}  // namespace
}  // namespace holdfast::store::memory
