#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keys/drone/backend_record.h"
#include "keys/drone/drone.h"
#include "statefile/state_dir.h"

namespace holdfast::keys::drone {

/// The state with which an incarnation of a drone starts: its exclusive directory, its identity, and its paths.
struct DroneState {
    statefile::StateDir directory;
    BackendRecords records;
    std::string logs;                          ///< a directory
    std::string id;                            ///< of the drone
    std::string life;                          ///< the id of this incarnation
    std::optional<std::string> cgroup;         ///< the parent for new cgroups, if there is a writable one
    std::vector<std::string> earlier_lives{};  ///< the last incarnations that used this directory, latest last
};

/// Locks the state directory and kills everything that an earlier incarnation left: when this returns, no process of it
/// is alive (K4). Error `state_in_use` if another drone has the directory, or `state_unusable`.
Result<std::unique_ptr<DroneState>> open_drone_state(const DroneOptions& options, const DroneListener& listener);

}  // namespace holdfast::keys::drone
