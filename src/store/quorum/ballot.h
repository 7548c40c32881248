#pragma once

#include <compare>
#include <cstdint>

namespace holdfast::store::quorum {

/// A member of the cluster: its place among the members in the order of their ids, which all of them agree on (Q12).
using NodeIndex = std::uint8_t;

/// Counts the starts of a node. Durable, written once per start; the first is 1 (Q2).
using BootNumber = std::uint32_t;

/// The number of an attempt. Never used twice: the node counts up, and its boot number tells its incarnations apart
/// (Q2). Zero comes before all.
struct Ballot {
    std::uint64_t counter = 0;
    BootNumber boot = 0;
    NodeIndex node = 0;

    auto operator<=>(const Ballot&) const = default;
};

/// An acceptor's state of one register besides its record.
struct RegisterBallots {
    Ballot promised;
    Ballot accepted;

    bool operator==(const RegisterBallots&) const = default;
};

}  // namespace holdfast::store::quorum
