#include "store/memory/slab.h"

#include <cstring>
#include <gtest/gtest.h>
#include <set>

namespace holdfast::store::memory {
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

void give_back_all(Slab& slab) {
    for (std::size_t steps = 500; slab.give_back(steps); steps = 500) {
    }
}

TEST(Slab, gives_back_the_pages_of_which_all_blocks_are_free) {
    constexpr std::size_t size = 96;
    Slab slab;
    std::vector<char*> blocks;
    for (int i = 0; i < 100'000; ++i)
        blocks.push_back(slab.allocate(size));
    const std::size_t most = slab.bytes();
    EXPECT_GT(most, blocks.size() * size);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (i % 10'000 != 0) slab.free(blocks[i], size);
    for (std::size_t i = 0; i < blocks.size(); i += 10'000)
        std::memset(blocks[i], static_cast<int>(i / 10'000), size);
    give_back_all(slab);
    EXPECT_LT(slab.bytes(), most / 10);
    std::set<char*> used;
    for (std::size_t i = 0; i < blocks.size(); i += 10'000)
        used.insert(blocks[i]);
    for (int i = 0; i < 100'000; ++i) {
        char* block = slab.allocate(size);
        ASSERT_TRUE(used.insert(block).second) << "a block was given twice";
        std::memset(block, 0xff, size);
    }
    EXPECT_LE(slab.bytes(), most + most / 10);
    for (std::size_t i = 0; i < blocks.size(); i += 10'000)
        for (std::size_t byte = 0; byte < size; ++byte)
            ASSERT_EQ(blocks[i][byte], static_cast<char>(i / 10'000));
}

TEST(Slab, gives_no_block_twice_while_it_looks_for_free_pages) {
    constexpr std::size_t size = 104;
    Slab slab;
    std::vector<char*> blocks;
    for (int i = 0; i < 60'000; ++i)
        blocks.push_back(slab.allocate(size));
    std::set<char*> used(blocks.begin(), blocks.end());
    for (int i = 0; i < 50'000; ++i) {
        slab.free(blocks.back(), size);
        used.erase(blocks.back());
        blocks.pop_back();
    }
    for (int turn = 0; turn < 20'000; ++turn) {
        std::size_t steps = 8;
        slab.give_back(steps);
        char* block = slab.allocate(size);
        ASSERT_TRUE(used.insert(block).second);
        blocks.push_back(block);
        if (turn % 3 != 0) continue;
        slab.free(blocks.front(), size);
        used.erase(blocks.front());
        blocks.erase(blocks.begin());
    }
}

}  // namespace
}  // namespace holdfast::store::memory
