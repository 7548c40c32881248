#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace holdfast::drone {

struct DroneOptions {
    std::string controllers;  ///< REQUIRES: checked with parse_servers()
    std::string pool = "default";
    std::string id;  ///< empty: the one this state directory has, or a new one
    std::size_t capacity = 100;
    std::string state_dir;  ///< empty: `drone` in the default one
    std::string address;    ///< where backends are reached; empty: 127.0.0.1, if all controllers are on this machine
};

/// Who hears of what the drone does; called in the thread that runs it.
struct DroneListener {
    std::function<void(const std::string&)> info;
    std::function<void(const std::string&)> warn;
    /// Nothing of an earlier life is left, and orders are taken from now on.
    std::function<void()> ready;
};

/// Runs backends under keys on this machine as controllers order (docs/keys.md), until SIGTERM or SIGINT: then all
/// backends are asked to stop, their keys are given back, and it ends. A second signal kills them. However it ends, no
/// backend outlives its key (K4).
///
/// REQUIRES: this process has no other threads and no children. The error says why it cannot run, or could not go on.
Result<void> run_drone(const DroneOptions& options, const DroneListener& listener);

}  // namespace holdfast::drone
