#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "authority/authority.h"
#include "base/random.h"
#include "keys/controller/backends.h"
#include "keys/controller/drones.h"

namespace holdfast::core {

/// What the parts of a controller share: what is known of drones and backends, and the way to the keys.
struct KeyState {
    KeyState(Authority& the_authority, std::uint64_t seed);

    Authority& authority;
    Random random;
    Backends backends;
    Drones drones;
    Instant now;
    std::optional<Instant> began_at;                         ///< when this controller was first told the time
    std::function<void(const std::string& drone)> on_order;  ///< there is a new one

    /// An answer that may come when the controller is gone, and is for nobody then.
    template <class Function>
    auto guarded(Function function) {
        return [alive = std::weak_ptr(alive_), function = std::move(function)](auto&&... answer) mutable {
            if (!alive.expired()) function(std::forward<decltype(answer)>(answer)...);
        };
    }

    /// Never the same twice, nor the same as in another life: a drone may still name one that it carried out for that.
    std::uint64_t next_order() { return ++last_order_; }
    std::string fresh_name(std::string_view prefix);

    /// The life of the drone that has this backend is the one that is heard.
    bool is_heard(const Backend& backend) const;
    /// The backends that a drone has or is about to get.
    std::size_t load_of(const Drone& drone) const;

    /// Gives a key back, then goes on. Nothing of its backend may be alive, nor may it be started.
    void give_back(
        const Backend& backend, std::function<void()> then = [] {});
    /// The backend has ended, as far as anybody can know; nothing is ordered about it any more.
    void end(const std::string& id, EndReason reason);
    /// If the drone was never told of the backend: takes the order and the key back, and returns true (K2).
    bool take_back(const std::string& id, EndReason reason);

 private:
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::uint64_t last_order_;
};

}  // namespace holdfast::core
