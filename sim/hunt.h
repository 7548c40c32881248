#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/world.h"

namespace holdfast::sim {

/// Totals over many worlds.
struct Tally {
    std::uint64_t seeds = 0;
    Work work;
    AdminWork admins;
    LogChecker::Counts log;
    Cluster::Counts cluster;
    std::uint64_t handovers = 0;
    std::uint64_t events = 0;
    Duration simulated{};
    bool stopped = false;  ///< stopped early on request

    void add(const Outcome& outcome);
};

/// A world in which a rule was broken.
struct Failure {
    Scenario scenario;
    Violation violation;
    std::string trace;

    /// The seed, the rule, the faults and the last events.
    std::string text() const;
};

/// Runs the world of a scenario. If it fails, it is run once more to see how.
std::optional<Failure> hunt(const Scenario& scenario, Tally& tally);

/// Why this world proves nothing: too little happened in it. Nothing if enough did.
std::optional<std::string> too_quiet(const Scenario& scenario, const Outcome& outcome);

/// Makes a failing scenario smaller as long as it breaks the same rule: without most of its faults, holders, nodes and
/// time. Runs at most so many worlds; `progress` hears of each that still fails.
struct ShrinkBounds {
    unsigned max_worlds = 400;
    std::function<bool()> stopped = {};  ///< true: what it has by now is enough
};
Failure shrink(const Failure& failure, const ShrinkBounds& bounds,
               const std::function<void(const Scenario&)>& progress);

}  // namespace holdfast::sim
