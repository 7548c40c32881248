#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "authority/requests.h"
#include "keys/controller/backends.h"
#include "keys/controller/orders.h"

namespace holdfast::keys::controller {

/// Requests to the controller and its answers (docs/keys.md).

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

/// A drone's report about one of its backends.
struct BackendReport {
    std::string id;
    Key key;
    lease::Token token = 0;
    BackendProgress progress;
    Duration ttl{};
    std::optional<Duration> holds_for;  ///< remaining time by the drone's clock; none: it does not hold the key
};
struct Heartbeat {
    std::string drone;
    std::string life;
    std::vector<std::string> earlier_lives;  ///< incarnations of which no process is alive
    std::string pool;
    std::size_t capacity = 0;
    bool draining = false;
    std::uint64_t clock_ms = 0;
    std::string address;
    bool all = false;
    std::vector<BackendReport> backends;
    std::optional<std::string> reassert_to;  ///< the controller incarnation that the drone last heard from
};
struct HeartbeatAnswer {
    bool send_all = false;
    bool drain = false;
    std::vector<std::string> reasserted;
};

struct OrdersRequest {
    std::string drone;
    std::string life;
    std::uint64_t clock_ms = 0;
    std::string controller;  ///< the controller whose orders are done; empty: this one
    std::vector<std::uint64_t> done;
    Duration wait{};
    std::uint64_t connection = 0;  ///< the connection of this request; numbers are unique within a server
};

/// An order with the deadlines of its key on the drone's clock (K3). The deadlines are zero unless it starts a backend.
struct SentOrder {
    Order order;
    struct Deadlines {
        std::int64_t renew_at_ms = 0, soft_terminate_at_ms = 0, hard_terminate_at_ms = 0;
    } deadlines;
};
struct OrdersAnswer {
    std::vector<SentOrder> orders;
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
