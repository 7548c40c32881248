#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "store/quorum/ballot.h"

namespace holdfast::core {

/// A set of members: repliers are counted by who they are, never by how often they reply (Q4).
class NodeSet {
 public:
    static constexpr std::size_t most = 64;

    /// False if it was there.
    bool insert(NodeIndex node) {
        HOLDFAST_ASSERT(node < most);
        const std::uint64_t before = bits_;
        bits_ |= std::uint64_t{1} << node;
        return bits_ != before;
    }
    bool contains(NodeIndex node) const { return node < most && (bits_ >> node & 1U) != 0; }
    std::size_t size() const { return static_cast<std::size_t>(std::popcount(bits_)); }

 private:
    std::uint64_t bits_ = 0;
};

}  // namespace holdfast::core
