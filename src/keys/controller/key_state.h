#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "authority/authority.h"
#include "base/alive.h"
#include "base/random.h"
#include "keys/controller/backends.h"
#include "keys/controller/drones.h"

namespace holdfast::keys::controller {

/// The state that the parts of a controller share: the known drones and backends, and access to the keys.
struct KeyState {
    KeyState(authority::Authority& the_authority, std::uint64_t seed);

    authority::Authority& authority;
    Random random;
    Backends backends;
    Drones drones;
    Instant now;
    std::optional<Instant> began_at;                         ///< the time of the first advance()
    std::function<void(const std::string& drone)> on_order;  ///< called when a drone has a new order

    /// Wraps a callback that may run after the controller is gone; it then does nothing.
    template <class Function>
    auto guarded(Function function) {
        return alive_.guard(std::move(function));
    }

    /// Unique, also across incarnations: a drone may still report an order of an earlier one as done.
    std::uint64_t next_order() { return ++last_order_; }
    std::string fresh_name(std::string_view prefix);

    /// The drone is healthy and still in the incarnation that has this backend.
    bool is_heard(const Backend& backend) const;
    /// The number of backends that a drone has or is about to get.
    std::size_t load_of(const Drone& drone) const;

    /// Releases a key, then calls `then`. REQUIRES: no process of the backend is alive or can still be started.
    void give_back(
        const Backend& backend, std::function<void()> then = [] {});
    /// Marks the backend as ended and drops all orders about it.
    void end(const std::string& id, EndReason reason);
    /// If the drone was never sent the order to start the backend, drops the order, releases the key and returns true
    /// (K2).
    bool take_back(const std::string& id, EndReason reason);

 private:
    std::uint64_t last_order_;
    Alive alive_;
};

}  // namespace holdfast::keys::controller
