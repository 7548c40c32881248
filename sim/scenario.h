#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace holdfast::sim {

/// The kinds of faults.
enum class FaultKind : std::uint8_t {
    crash,      ///< the node's process dies and restarts after `lasts` with its durable state
    reboot,     ///< likewise its machine: its clock starts anew, its wall clock may be wrong
    stop,       ///< a clean stop, and the start after it
    pause,      ///< nothing runs on the node but its clock, and messages to it are queued
    cut,        ///< the link from `node` to `other`, in one direction
    isolate,    ///< the links between the node and all others, in both directions
    split,      ///< the links between the nodes in the bits of `other` and the rest
    stall,      ///< the node's disk finishes no write
    fail,       ///< the node's disk refuses writes
    storm,      ///< every link loses, delays and duplicates many messages
    power_cut,  ///< all nodes reboot
    put_back,   ///< a clean stop; then `other` is cut off, the node gets an earlier copy, and all restart
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

/// The input of a world. The faults are a list, so that shrink() can remove them one by one.
struct Scenario {
    std::uint64_t seed = 1;
    std::string_view shape;  ///< the prevailing kind of fault
    unsigned nodes = 3;
    unsigned holders = 12;
    unsigned resources = 4;
    unsigned admins = 2;
    bool files = false;  ///< some resources are paths and trees, which overlap
    Duration ttl_least = 1s;
    Duration max_ttl = 10s;
    double rho = 0.01;
    double late = 0.002;        ///< fraction of messages that arrive seconds late
    Duration max_late = 5s;     ///< the longest such delay
    double doubled = 0.01;      ///< fraction delivered twice
    Duration turbulent = 60s;   ///< how long faults happen
    std::vector<Fault> faults;  ///< by time
};

/// The scenario of a seed.
Scenario scenario_of(std::uint64_t seed);
std::string describe(const Scenario& scenario);

}  // namespace holdfast::sim
