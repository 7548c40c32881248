#include "lease/predicate.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

// Rows and columns in the order of all_predicates: PROVIDES CONSUMES MUTATES DELETES DEPENDS_ON RENAMES (G2).
constexpr bool matrix[6][6] = {
    {false, true, false, false, true, false},    // PROVIDES
    {true, true, false, false, true, false},     // CONSUMES
    {false, false, false, false, false, false},  // MUTATES
    {false, false, false, false, false, false},  // DELETES
    {true, true, false, false, true, false},     // DEPENDS_ON
    {false, false, false, false, false, false},  // RENAMES
};

TEST(Predicates, conflict_as_the_matrix_says) {
    for (std::size_t a = 0; a < 6; ++a)
        for (std::size_t b = 0; b < 6; ++b)
            EXPECT_EQ(compatible(all_predicates[a], all_predicates[b]), matrix[a][b])
                << to_string(all_predicates[a]) << " and " << to_string(all_predicates[b]);
}

TEST(Predicates, have_names_that_are_read_back) {
    for (const Predicate predicate : all_predicates)
        EXPECT_EQ(parse_predicate(to_string(predicate)), predicate);
    EXPECT_FALSE(parse_predicate("mutates"));
    EXPECT_FALSE(parse_predicate(""));
}

TEST(PredicateSet, admits_what_is_compatible_with_every_member) {
    PredicateSet set;
    for (const Predicate predicate : all_predicates)
        EXPECT_TRUE(set.admits(predicate));
    set.insert(Predicate::consumes);
    set.insert(Predicate::depends_on);
    EXPECT_TRUE(set.admits(Predicate::provides));
    EXPECT_FALSE(set.admits(Predicate::mutates));
    set.insert(Predicate::provides);
    EXPECT_FALSE(set.admits(Predicate::provides));
    EXPECT_TRUE(set.admits(Predicate::consumes));
}

}  // namespace
}  // namespace holdfast::lease
