#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/time.h"
#include "store/cas/relative_record.h"
#include "store/cas/request_number.h"
#include "store/quorum/ballot.h"

namespace holdfast::store::quorum {

/// The settings that the members of a cluster agree on (Q12), and the index of this member.
struct QuorumConfig {
    NodeIndex node = 0;
    std::uint8_t members = 3;
    BootNumber boot = 1;
    Duration longest_ttl = 5min;  ///< the maximum of every requested TTL and of every policy
    double rho = 0.01;
    Duration attempt_time = 500ms;  ///< from an attempt's first message until it has failed (Q3)
    Duration give_up_after = 5s;    ///< for one update, over all its attempts

    std::size_t majority() const { return members / 2U + 1U; }
    cas::ClockRates rates() const { return cas::ClockRates{rho}; }

    /// How long an acceptor that lost its memory stays silent (Q10).
    Duration silence() const { return ballot_kept(); }
    /// How long after acceptance a ballot is kept when its record is empty (Q5).
    Duration ballot_kept() const { return rates().kept(longest_ttl + attempt_time); }
};

/// A set of members. Repliers are counted, not replies (Q4).
class NodeSet {
 public:
    static constexpr std::size_t max_nodes = 64;

    /// False if it was already there.
    bool insert(NodeIndex node) {
        HOLDFAST_ASSERT(node < max_nodes);
        const std::uint64_t before = bits_;
        bits_ |= std::uint64_t{1} << node;
        return bits_ != before;
    }
    bool contains(NodeIndex node) const { return node < max_nodes && (bits_ >> node & 1U) != 0; }
    std::size_t size() const { return static_cast<std::size_t>(std::popcount(bits_)); }

 private:
    std::uint64_t bits_ = 0;
};

/// The first request number of one incarnation of a node: its origin is the node and the low 16 bits of its boot
/// number.
constexpr std::uint64_t first_request(NodeIndex node, BootNumber boot) {
    return cas::first_request_of(std::uint64_t{node} << 16 | (boot & 0xffffU));
}

/// The node and incarnation that made a request.
struct RequestOrigin {
    NodeIndex node = 0;
    std::uint16_t boot = 0;  ///< the low 16 bits of the boot number; zero if unknown

    bool is_of(BootNumber life) const { return boot == 0 || boot == (life & 0xffffU); }
};
constexpr RequestOrigin origin_of(std::uint64_t request) {
    const std::uint64_t origin = cas::request_origin(request);
    return {static_cast<NodeIndex>(origin >> 16), static_cast<std::uint16_t>(origin)};
}

}  // namespace holdfast::store::quorum
