#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keys/drone/backend_record.h"
#include "keys/drone/drone.h"
#include "statefile/state_dir.h"

namespace holdfast::drone {

/// What a life of a drone begins with: the directory that is its alone, who it is, and where things are kept.
struct DroneState {
    StateDir directory;
    BackendRecords records;
    std::string logs;                          ///< a directory
    std::string id;                            ///< of the drone
    std::string life;                          ///< of this one
    std::optional<std::string> cgroup;         ///< where groups can be made, if anywhere
    std::vector<std::string> earlier_lives{};  ///< those that had this directory last, the latest at the end
};

/// Locks the state directory and kills what an earlier life left: when this returns, nothing of it lives (K4).
/// Error `state_in_use` if another drone has the directory, or `state_unusable`.
Result<std::unique_ptr<DroneState>> open_drone_state(const DroneOptions& options, const DroneListener& listener);

}  // namespace holdfast::drone
