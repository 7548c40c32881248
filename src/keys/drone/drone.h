#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace holdfast::keys::drone {

struct DroneOptions {
    std::string controllers;  ///< REQUIRES: checked with parse_servers()
    std::string pool = "default";
    std::string id;  ///< empty: the one stored in the state directory, or a new one
    std::size_t capacity = 100;
    std::string state_dir;  ///< empty: `drone` in the default state directory
    std::string address;    ///< the host of the backends; empty: 127.0.0.1, if all controllers are on this machine
};

/// Callbacks about the drone's progress, called on the thread that runs it.
struct DroneListener {
    std::function<void(const std::string&)> info;
    std::function<void(const std::string&)> warn;
    /// No process of an earlier incarnation is left; the drone takes orders from now on.
    std::function<void()> ready;
};

/// Runs backends under keys on this machine as controllers order (docs/keys.md), until SIGTERM, SIGINT or SIGHUP. It
/// then terminates all backends, releases their keys and returns. A second signal kills the backends. However it ends,
/// no backend outlives its key (K4).
///
/// REQUIRES: this process has no other threads and no children. The error says why the drone cannot start or continue.
Result<void> run_drone(const DroneOptions& options, const DroneListener& listener);

}  // namespace holdfast::keys::drone
