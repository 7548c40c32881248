#include "store/memory/number_set.h"

#include <gtest/gtest.h>
#include <set>

#include "base/random.h"

namespace holdfast::store::memory {
namespace {

std::set<std::uint32_t> members(const NumberSet& numbers) {
    std::set<std::uint32_t> found;
    for (auto next = numbers.at_or_after(0); next; next = numbers.at_or_after(*next + 1))
        found.insert(*next);
    return found;
}

void toggle(NumberSet& numbers, std::set<std::uint32_t>& model, std::uint32_t number) {
    if (model.insert(number).second) {
        numbers.insert(number);
    } else {
        model.erase(number);
        numbers.erase(number);
    }
}

TEST(NumberSet, agrees_with_a_plain_set_over_random_histories) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Random random{seed};
        NumberSet numbers;
        std::set<std::uint32_t> model;
        const std::uint64_t range = seed % 2 == 0 ? 1000 : 20'000;
        for (int step = 0; step < 20'000; ++step) {
            toggle(numbers, model, static_cast<std::uint32_t>(random.below(range)));
            const auto asked = static_cast<std::uint32_t>(random.below(range));
            const auto expected = model.lower_bound(asked);
            const auto found = numbers.at_or_after(asked);
            ASSERT_EQ(found.has_value(), expected != model.end()) << "seed " << seed;
            if (found) {
                ASSERT_EQ(*found, *expected) << "seed " << seed;
            }
            ASSERT_EQ(numbers.contains(asked), model.contains(asked)) << "seed " << seed;
        }
        ASSERT_EQ(members(numbers), model) << "seed " << seed;
    }
}

TEST(NumberSet, keeps_its_order_while_it_fills_from_either_end_and_empties_again) {
    for (const bool rising : {true, false}) {
        NumberSet numbers;
        const auto number = [&](std::uint32_t i) { return rising ? i : 10'000 - i; };
        for (std::uint32_t i = 0; i < 10'000; ++i)
            numbers.insert(number(i));
        EXPECT_EQ(members(numbers).size(), 10'000U);
        for (std::uint32_t i = 0; i < 10'000; ++i) {
            ASSERT_TRUE(numbers.contains(number(i)));
            numbers.erase(number(i));
            ASSERT_FALSE(numbers.contains(number(i)));
        }
        EXPECT_TRUE(numbers.empty());
    }
}

}  // namespace
}  // namespace holdfast::store::memory
