#include "base/hash.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace holdfast {
namespace {

TEST(Hash, depends_on_every_byte_the_length_and_the_key) {
    std::set<std::uint64_t> seen;
    std::string text;
    for (int length = 0; length < 40; ++length) {
        EXPECT_TRUE(seen.insert(hash_text({1, 2}, text)).second) << "length " << length;
        EXPECT_TRUE(seen.insert(hash_text({1, 3}, text)).second) << "another key, length " << length;
        text += '\0';
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = 1;
        EXPECT_TRUE(seen.insert(hash_text({1, 2}, changed)).second) << "byte " << i;
    }
}

TEST(Hash, spreads_names_that_differ_in_a_digit_over_all_low_bits) {
    std::array<int, 256> places{};
    for (int i = 0; i < 25'600; ++i)
        ++places[hash_text({7, 9}, "session-" + std::to_string(i)) & 255];
    for (const int count : places)
        EXPECT_TRUE(count > 40 && count < 180) << count;
}

}  // namespace
}  // namespace holdfast
