#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "authority/requests.h"
#include "keys/controller/backends.h"
#include "keys/controller/orders.h"

namespace holdfast::keys::controller {

/// What clients ask a controller, and its answers (docs/keys.md).

struct SpawnRequest {
    Spawn spawn;
    std::string pool = "default";
    std::string id;  ///< the backend's id; empty: a random one
};
struct ConnectRequest {
    authority::Caller caller;
    Key key;  ///< empty name: a random one
    std::optional<SpawnRequest> spawn;
    std::string user;
    Duration wait{};
    std::optional<Duration> ttl{};  ///< the key's, if this request takes it; none: the policy's default
};
struct Connected {
    Backend backend;
    bool spawned = false;  ///< true if this request started it
};

/// The state of a drone as clients see it.
struct DroneView {
    std::string id, life, pool, address;
    std::size_t capacity = 0;
    std::size_t backends = 0;
    std::size_t orders = 0;
    bool draining = false;
    bool healthy = false;
    Duration heard_ago{};
};
struct DronePage {
    std::vector<DroneView> drones;
    bool more = false;
};

/// A backend as clients see it. drone_heard_ago is set if the drone is silent or may be dead; in the latter case the
/// address is empty.
struct BackendView {
    Backend backend;
    std::optional<Duration> drone_heard_ago;
};
struct BackendPage {
    std::vector<BackendView> backends;
    std::string next;  ///< empty at the end
};

/// A key that is held.
struct HeldKey {
    Key key;
    lease::Token token = 0;
    std::string backend, drone;
    bool renewable = true;
    Duration ttl{}, expires_in{};
    std::optional<BackendState> state;  ///< none: this controller does not know the backend
};
struct KeyPage {
    std::vector<HeldKey> keys;
    std::string next;  ///< empty at the end
};

/// Backends that this controller knows only by their keys.
struct UnreportedBackends {
    std::vector<HeldKey> keys;
    bool complete = false;  ///< no other backends can be waiting for a drone's report
};

}  // namespace holdfast::keys::controller
