#include "base/hash.h"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <string>

namespace holdfast {
namespace {

using Hash = std::uint64_t (*)(HashKey, std::string_view);

class Hashes : public testing::TestWithParam<Hash> {
 protected:
    const Hash hash = GetParam();
};

TEST_P(Hashes, depend_on_every_byte_the_length_and_the_key) {
    std::set<std::uint64_t> seen;
    std::string text;
    for (int length = 0; length < 40; ++length) {
        EXPECT_TRUE(seen.insert(hash({1, 2}, text)).second) << "length " << length;
        EXPECT_TRUE(seen.insert(hash({1, 3}, text)).second) << "another key, length " << length;
        text += '\0';
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = 1;
        EXPECT_TRUE(seen.insert(hash({1, 2}, changed)).second) << "byte " << i;
    }
}

TEST_P(Hashes, spread_names_that_differ_in_a_digit_over_all_low_bits) {
    std::array<int, 256> places{};
    for (int i = 0; i < 25'600; ++i)
        ++places[hash({7, 9}, "session-" + std::to_string(i)) & 255];
    for (const int count : places)
        EXPECT_TRUE(count > 40 && count < 180) << count;
}

INSTANTIATE_TEST_SUITE_P(, Hashes, testing::Values(&hash_text, &hash_place),
                         [](const auto& tested) { return tested.param == &hash_text ? "text" : "place"; });

}  // namespace
}  // namespace holdfast
