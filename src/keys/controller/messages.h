#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "authority/requests.h"
#include "keys/controller/backends.h"
#include "keys/controller/orders.h"

namespace holdfast::core {

/// What the controller is asked and what it answers (docs/keys.md).

struct SpawnRequest {
    Spawn spawn;
    std::string pool = "default";
    std::string id;  ///< of the backend; empty: a random one
};
struct ConnectRequest {
    Caller caller;
    Key key;  ///< no name: a random one
    std::optional<SpawnRequest> spawn;
    std::string user;
    Duration wait{};
    std::optional<Duration> ttl{};  ///< of the key, if this request takes it; none: the policy's default
};
struct Connected {
    Backend backend;
    bool spawned = false;  ///< by this very request
};

/// What a drone says of one of its backends.
struct BackendReport {
    std::string id;
    Key key;
    Token token = 0;
    BackendProgress progress;
    Duration ttl{};
    std::optional<Duration> holds_for;  ///< by the drone's clock; none: it does not hold the key
};
struct Heartbeat {
    std::string drone;
    std::string life;
    std::vector<std::string> earlier_lives;  ///< of which it knows that nothing is alive
    std::string pool;
    std::size_t capacity = 0;
    bool draining = false;
    std::uint64_t clock_ms = 0;
    std::string address;
    bool all = false;
    std::vector<BackendReport> backends;
    std::optional<std::string> reassert_to;  ///< the life of the controller that it heard from
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
    std::string controller;  ///< whose orders are done; empty: this one's
    std::vector<std::uint64_t> done;
    Duration wait{};
    std::uint64_t connection = 0;  ///< on which it came; no two of a server have one number
};

/// An order with the deadlines of its key on the drone's clock (K3); zero for one that starts nothing.
struct SentOrder {
    Order order;
    struct Deadlines {
        std::int64_t renew_at_ms = 0, soft_terminate_at_ms = 0, hard_terminate_at_ms = 0;
    } deadlines;
};
struct OrdersAnswer {
    std::vector<SentOrder> orders;
};

/// What is known of a drone.
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

/// A backend, with how long ago its drone was heard from if that is too long, or if the drone may be dead. In the
/// latter case the backend is shown without its address.
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
    Token token = 0;
    std::string backend, drone;
    bool renewable = true;
    Duration ttl{}, expires_in{};
    std::optional<BackendState> state;  ///< none: its drone has not told this controller of it
};
struct KeyPage {
    std::vector<HeldKey> keys;
    std::string next;  ///< empty at the end
};

/// Backends that this controller knows by their keys only.
struct UnreportedBackends {
    std::vector<HeldKey> keys;
    bool complete = false;  ///< there are no others that a drone may soon tell of
};

}  // namespace holdfast::core
