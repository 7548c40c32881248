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

/// Runs the world of a scenario. If it fails, it is run once more with a trace.
std::optional<Failure> hunt(const Scenario& scenario, Tally& tally);

/// Says what happened too rarely in this world for it to prove anything. Nothing if enough happened.
std::optional<std::string> too_quiet(const Scenario& scenario, const Outcome& outcome);

/// Bounds of shrink(), which removes faults, holders, nodes and time from a failing scenario as long as it breaks the
/// same rule. `progress` is called for each smaller scenario that still fails.
struct ShrinkBounds {
    unsigned max_worlds = 400;
    std::function<bool()> stopped = {};  ///< true: stop with the present result
};
Failure shrink(const Failure& failure, const ShrinkBounds& bounds,
               const std::function<void(const Scenario&)>& progress);

}  // namespace holdfast::sim
