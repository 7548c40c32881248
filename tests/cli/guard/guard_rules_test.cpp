#include "cli/guard/guard_rules.h"

#include <gtest/gtest.h>

namespace holdfast::cli::guard {
namespace {

using lease::Predicate;

SeenLease lease(std::string resource, Predicate predicate, std::string holder) {
    const std::string id = resource + "#1";
    return {id, std::move(resource), predicate, std::move(holder), "", std::chrono::milliseconds{1000}, ""};
}

std::vector<Finding> check(std::vector<SeenLease> leases, const std::vector<TouchedFile>& files) {
    return GuardRules{"alice", std::move(leases)}.check(files);
}

bool allowed(const SeenLease& held, const TouchedFile& file) {
    return check({held}, {file}).empty();
}

TEST(GuardRules, without_a_lease_nothing_may_change) {
    for (const auto change : {FileChange::added, FileChange::modified, FileChange::deleted}) {
        const auto findings = check({}, {{"src/a.c", change}});
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_EQ(findings[0].resource, "FILE:/src/a.c");
        EXPECT_EQ(findings[0].change, change);
        EXPECT_TRUE(findings[0].others.empty());
    }
}

TEST(GuardRules, each_predicate_allows_its_own_changes) {
    struct Case {
        Predicate predicate;
        bool add, modify, remove;
    };
    for (const Case& one :
         {Case{Predicate::mutates, true, true, true}, Case{Predicate::deletes, false, false, true},
          Case{Predicate::renames, true, false, true}, Case{Predicate::provides, false, false, false},
          Case{Predicate::consumes, false, false, false}, Case{Predicate::depends_on, false, false, false}}) {
        const SeenLease held = lease("FILE:/a", one.predicate, "alice");
        EXPECT_EQ(allowed(held, {"a", FileChange::added}), one.add) << to_string(one.predicate);
        EXPECT_EQ(allowed(held, {"a", FileChange::modified}), one.modify) << to_string(one.predicate);
        EXPECT_EQ(allowed(held, {"a", FileChange::deleted}), one.remove) << to_string(one.predicate);
    }
}

TEST(GuardRules, a_tree_covers_what_is_below_it_and_nothing_else) {
    const auto covers = [](const std::string& tree, const std::string& path) {
        return allowed(lease(tree, Predicate::mutates, "alice"), {path, FileChange::modified});
    };
    EXPECT_TRUE(covers("FILE:/src/**", "src/a.c"));
    EXPECT_TRUE(covers("FILE:/src/**", "src/net/deep/a.c"));
    EXPECT_TRUE(covers("FILE:/**", "src/a.c"));
    EXPECT_TRUE(covers("FILE:/**", "a.c"));
    EXPECT_FALSE(covers("FILE:/src/**", "src"));
    EXPECT_FALSE(covers("FILE:/src/**", "src2/a.c"));
    EXPECT_FALSE(covers("FILE:/src/net/**", "src/a.c"));
    EXPECT_FALSE(covers("FILE:/src", "src/a.c"));
    EXPECT_FALSE(covers("FILE:src/**", "src/a.c")) << "not named from the root";
    EXPECT_FALSE(covers("FILE:**", "a.c"));
    EXPECT_FALSE(covers("/**", "a.c"));
}

TEST(GuardRules, another_holder_on_the_file_or_a_tree_above_is_in_the_way) {
    for (const char* resource : {"FILE:/src/a.c", "FILE:/src/**", "FILE:/**"}) {
        const auto findings =
            check({lease("FILE:/src/a.c", Predicate::mutates, "alice"), lease(resource, Predicate::mutates, "bob")},
                  {{"src/a.c", FileChange::modified}, {"src/b.c", FileChange::modified}});
        ASSERT_FALSE(findings.empty()) << resource;
        ASSERT_EQ(findings[0].others.size(), 1U);
        EXPECT_EQ(findings[0].others[0].holder, "bob");
    }
    EXPECT_TRUE(
        check({lease("FILE:/src/a.c", Predicate::mutates, "alice"), lease("FILE:/src/b.c", Predicate::mutates, "bob"),
               lease("FILE:/src/a.c/**", Predicate::mutates, "bob")},
              {{"src/a.c", FileChange::modified}})
            .empty());
}

TEST(GuardRules, what_stands_in_the_way_follows_the_matrix) {
    for (const Predicate theirs : lease::all_predicates)
        for (const auto change : {FileChange::added, FileChange::modified, FileChange::deleted}) {
            const Predicate mine = change == FileChange::deleted ? Predicate::deletes : Predicate::mutates;
            const auto findings = check(
                {lease("FILE:/a", Predicate::mutates, "alice"), lease("FILE:/a", theirs, "bob")}, {{"a", change}});
            EXPECT_EQ(findings.empty(), lease::compatible(theirs, mine)) << to_string(theirs) << to_string(change);
        }
}

TEST(GuardRules, names_only_some_of_many_and_keeps_the_order_of_the_files) {
    std::vector<SeenLease> leases;
    for (int i = 0; i < 1000; ++i)
        leases.push_back(lease("FILE:/**", Predicate::consumes, "reader " + std::to_string(i)));
    const auto findings = check(leases, {{"z", FileChange::modified}, {"a", FileChange::modified}});
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].resource, "FILE:/z");
    EXPECT_EQ(findings[0].others.size(), 8U);
}

TEST(GuardRules, advise_a_session_in_which_weaker_leases_are_not_in_the_way) {
    const auto weaker = [](const std::string& id, const std::string& session) {
        SeenLease one = lease("FILE:/" + id, Predicate::consumes, "alice");
        one.session = session;
        return one;
    };
    const std::vector<TouchedFile> files{{"a", FileChange::modified}, {"b", FileChange::modified}};
    EXPECT_TRUE(claim_advice(check({}, files)).session.empty());
    EXPECT_TRUE(claim_advice(check({}, files)).release.empty());
    EXPECT_EQ(claim_advice(check({weaker("a", "one"), weaker("b", "one")}, files)).session, "one");
    const auto several = claim_advice(check({weaker("a", "one"), weaker("b", "two")}, files));
    EXPECT_TRUE(several.session.empty());
    EXPECT_EQ(several.release, (std::vector<std::string>{"FILE:/a#1", "FILE:/b#1"}));
    EXPECT_EQ(claim_advice(check({weaker("a", "")}, files)).release, std::vector<std::string>{"FILE:/a#1"});
    const auto held = claim_advice(
        check({weaker("a", "one"), lease("FILE:/a", Predicate::mutates, "bob")}, {{"a", FileChange::modified}}));
    EXPECT_TRUE(held.session.empty() && held.release.empty()) << "another has it: there is nothing to claim";
}

}  // namespace
}  // namespace holdfast::cli::guard
