#include "store/memory/slab.h"

#include <cstring>
#include <gtest/gtest.h>
#include <set>

namespace holdfast::core {
namespace {

TEST(Slab, gives_blocks_that_do_not_overlap) {
    Slab slab;
    std::vector<std::pair<char*, std::size_t>> blocks;
    for (std::size_t size = 1; size <= 700; ++size) {
        char* block = slab.allocate(size);
        std::memset(block, static_cast<int>(size & 0xff), size);
        blocks.emplace_back(block, size);
    }
    for (const auto& [block, size] : blocks)
        for (std::size_t i = 0; i < size; ++i)
            ASSERT_EQ(static_cast<unsigned char>(block[i]), size & 0xff);
    for (const auto& [block, size] : blocks)
        slab.free(block, size);
}

TEST(Slab, uses_freed_blocks_again) {
    Slab slab;
    std::set<char*> first;
    for (int i = 0; i < 1000; ++i)
        first.insert(slab.allocate(96));
    for (char* block : first)
        slab.free(block, 96);
    for (int i = 0; i < 1000; ++i)
        EXPECT_TRUE(first.contains(slab.allocate(90))) << "90 and 96 share a class";
}

}  // namespace
}  // namespace holdfast::core
