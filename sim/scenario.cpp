#include "sim/scenario.h"

#include <algorithm>
#include <array>

#include "sim/dice.h"
#include "sim/trace.h"

namespace holdfast::sim {
namespace {

constexpr std::array<std::string_view, 12> kind_names{"crash", "reboot", "stop", "pause", "cut",       "isolate",
                                                      "split", "stall",  "fail", "storm", "power_cut", "put_back"};

struct Weighted {
    FaultKind kind;
    unsigned weight;
    Duration least, most;
};

/// A mix of faults, and how often they happen.
struct Shape {
    std::string_view name;
    Duration apart;  ///< average time between two faults
    bool uneven;     ///< TTLs are the shortest or the longest, nothing in between
    double late;
    Duration max_late;
    double doubled;
    std::vector<Weighted> faults;
};

const std::vector<Shape>& shapes() {
    using enum FaultKind;
    static const std::vector<Shape> all{
        {"mixed",
         4s,
         false,
         0.002,
         5s,
         0.01,
         {{crash, 2, 10ms, 6s},
          {reboot, 1, 1s, 15s},
          {stop, 3, 10ms, 3s},
          {pause, 3, 100ms, 14s},
          {cut, 3, 1s, 15s},
          {isolate, 3, 1s, 12s},
          {split, 2, 1s, 12s},
          {stall, 2, 1s, 40s},
          {fail, 1, 1s, 20s},
          {storm, 2, 1s, 8s}}},
        {"restarts",
         5s,
         true,
         0.002,
         3s,
         0.01,
         {{crash, 5, 10ms, 500ms},
          {reboot, 2, 100ms, 2s},
          {stop, 3, 10ms, 1s},
          {put_back, 4, 3s, 8s},
          {isolate, 4, 2s, 14s},
          {power_cut, 2, 10ms, 2s},
          {cut, 2, 2s, 14s}}},
        {"late",
         6s,
         true,
         0.02,
         20s,
         0.02,
         {{crash, 4, 10ms, 1s},
          {stop, 3, 10ms, 1s},
          {reboot, 1, 1s, 3s},
          {isolate, 3, 1s, 10s},
          {cut, 2, 1s, 10s},
          {storm, 3, 1s, 8s},
          {pause, 3, 500ms, 12s}}},
        {"partitions",
         3s,
         false,
         0.004,
         4s,
         0.02,
         {{cut, 4, 500ms, 10s},
          {isolate, 4, 500ms, 8s},
          {split, 3, 500ms, 8s},
          {pause, 3, 100ms, 12s},
          {storm, 2, 500ms, 6s},
          {stop, 1, 10ms, 1s}}},
        {"doubled",
         4s,
         true,
         0.004,
         4s,
         0.4,
         {{split, 6, 2s, 14s}, {isolate, 3, 2s, 12s}, {crash, 3, 10ms, 1s}, {storm, 2, 1s, 6s}}},
        {"disks",
         2500ms,
         false,
         0.002,
         4s,
         0.01,
         {{stall, 6, 2s, 40s},
          {fail, 2, 1s, 20s},
          {crash, 6, 10ms, 2s},
          {power_cut, 1, 10ms, 2s},
          {stop, 1, 10ms, 1s},
          {isolate, 3, 2s, 12s},
          {cut, 2, 2s, 12s}}},
    };
    return all;
}

Fault any_fault(const Shape& shape, const Scenario& scenario, Dice& dice) {
    unsigned sum = 0;
    for (const Weighted& one : shape.faults)
        sum += one.weight;
    std::uint64_t pick = dice.below(sum);
    const Weighted* chosen = shape.faults.data();
    while (pick >= chosen->weight)
        pick -= (chosen++)->weight;
    Fault fault{chosen->kind, {}, dice.between(chosen->least, chosen->most), 0, 0};
    fault.node = static_cast<unsigned>(dice.below(scenario.nodes));
    fault.other = fault.kind == FaultKind::split
                      ? static_cast<unsigned>(1 + dice.below((1U << scenario.nodes) - 2))
                      : static_cast<unsigned>((fault.node + 1 + dice.below(scenario.nodes - 1)) % scenario.nodes);
    return fault;
}

}  // namespace

std::string_view to_string(FaultKind kind) {
    return kind_names.at(static_cast<std::size_t>(kind));
}

std::string describe(const Fault& fault) {
    std::string text = "at " + seconds_text(fault.at) + " for " + seconds_text(fault.lasts) + ": ";
    text += to_string(fault.kind);
    if (fault.kind == FaultKind::cut)
        return text + " node " + std::to_string(fault.node) + " to node " + std::to_string(fault.other);
    if (fault.kind == FaultKind::split) {
        text += " of nodes";
        for (unsigned node = 0; node < 8; ++node)
            if ((fault.other >> node & 1U) != 0) text += ' ' + std::to_string(node);
        return text + " from the rest";
    }
    const bool of_all = fault.kind == FaultKind::storm || fault.kind == FaultKind::power_cut;
    return of_all ? text : text + " node " + std::to_string(fault.node);
}

Scenario scenario_of(std::uint64_t seed) {
    Dice dice(Dice::part(seed, 1));
    const Shape& shape = shapes()[seed % shapes().size()];
    Scenario scenario;
    scenario.seed = seed;
    scenario.shape = shape.name;
    // With three nodes, one reply and the own vote are a majority, so a doubled reply makes no difference.
    scenario.nodes = dice.chance(shape.doubled > 0.1 ? 0.75 : 0.25) ? 5 : 3;
    scenario.holders = static_cast<unsigned>(8 + dice.below(13));
    scenario.resources = static_cast<unsigned>(2 + dice.below(5));
    scenario.files = dice.chance(0.4);
    scenario.ttl_least = shape.uneven ? 1s : 1s + dice.between(0s, 2s);
    scenario.max_ttl = shape.uneven ? 10s : scenario.ttl_least + dice.between(1s, 7s);
    scenario.rho = dice.chance(0.3) ? 0.05 : 0.01;
    scenario.late = shape.late;
    scenario.max_late = shape.max_late;
    scenario.doubled = shape.doubled;
    for (Duration at = 2s; at < scenario.turbulent; at += dice.between(100ms, 2 * shape.apart)) {
        Fault fault = any_fault(shape, scenario, dice);
        fault.at = at;
        fault.lasts = std::min(fault.lasts, scenario.turbulent - at);
        scenario.faults.push_back(fault);
    }
    return scenario;
}

std::string describe(const Scenario& scenario) {
    std::string text = "seed " + std::to_string(scenario.seed) + " (" + std::string(scenario.shape) +
                       "): " + std::to_string(scenario.nodes) + " nodes, " + std::to_string(scenario.holders) +
                       " holders, " + std::to_string(scenario.admins) + " admins, " +
                       std::to_string(scenario.resources) + " resources" + (scenario.files ? " with trees" : "") +
                       ", " + seconds_text(scenario.turbulent) + " of faults, " +
                       std::to_string(scenario.faults.size()) + " faults\n";
    for (const Fault& fault : scenario.faults)
        text += "  " + describe(fault) + '\n';
    return text;
}

}  // namespace holdfast::sim
