#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace holdfast::sim {

/// The kinds of faults.
enum class FaultKind : std::uint8_t {
    crash,      ///< the node's process dies and starts again after `lasts`, with what was durable
    reboot,     ///< likewise with its machine: its clock starts anew, its wall clock may be wrong
    stop,       ///< a clean stop, and the start after it
    pause,      ///< nothing runs on the node, its clock does, and what is sent to it piles up
    cut,        ///< from `node` to `other`, one way
    isolate,    ///< the node, from the other nodes, both ways
    split,      ///< the nodes in the bits of `other` from the rest
    stall,      ///< the node's disk finishes nothing
    fail,       ///< the node's disk refuses
    storm,      ///< every link loses, delays and doubles much
    power_cut,  ///< all nodes reboot
    put_back,   ///< a clean stop; then `other` is cut off, the node gets the copy of before, and all start again
};
std::string_view to_string(FaultKind kind);

struct Fault {
    FaultKind kind = FaultKind::crash;
    Duration at{};
    Duration lasts{};
    unsigned node = 0;
    unsigned other = 0;
};
std::string describe(const Fault& fault);

/// All that a world is made from. The faults are a list, so that they can be taken out one by one (shrink.h).
struct Scenario {
    std::uint64_t seed = 1;
    std::string_view shape;  ///< what kind of trouble it has most of
    unsigned nodes = 3;
    unsigned holders = 12;
    unsigned resources = 4;
    unsigned admins = 2;
    bool files = false;  ///< some of them paths and trees, which overlap
    Duration ttl_least = 1s;
    Duration max_ttl = 10s;
    double rho = 0.01;
    double late = 0.002;        ///< fraction of messages that arrive seconds late
    Duration max_late = 5s;     ///< the longest such delay
    double doubled = 0.01;      ///< fraction delivered twice
    Duration turbulent = 60s;   ///< the faults end after this
    std::vector<Fault> faults;  ///< by their time
};

/// The scenario of a seed.
Scenario scenario_of(std::uint64_t seed);
std::string describe(const Scenario& scenario);

}  // namespace holdfast::sim
