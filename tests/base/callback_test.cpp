#include "base/callback.h"

#include <array>
#include <gtest/gtest.h>
#include <memory>

namespace holdfast {
namespace {

TEST(Callback, calls_what_it_was_made_of) {
    int sum = 0;
    Callback<int> add = [&sum](int n) { sum += n; };
    add(3);
    add(4);
    EXPECT_EQ(sum, 7);
}

TEST(Callback, keeps_captures_alive_while_it_moves_and_frees_them_once) {
    const auto counted = std::make_shared<int>(0);
    {
        Callback<> small = [counted] { ++*counted; };
        Callback<> large = [counted, bulk = std::array<char, 200>{}] { *counted += 10 + bulk[0]; };
        Callback<> first = std::move(small);
        Callback<> second = std::move(large);
        EXPECT_FALSE(small);
        EXPECT_FALSE(large);
        first();
        second();
        second = std::move(first);
        second();
    }
    EXPECT_EQ(*counted, 12);
    EXPECT_EQ(counted.use_count(), 1);
}

TEST(Callback, takes_arguments_that_can_only_be_moved) {
    std::unique_ptr<int> received;
    Callback<std::unique_ptr<int>> callback = [&](std::unique_ptr<int> value) { received = std::move(value); };
    callback(std::make_unique<int>(5));
    EXPECT_EQ(*received, 5);
}

}  // namespace
}  // namespace holdfast
