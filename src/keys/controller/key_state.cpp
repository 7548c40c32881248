#include "keys/controller/key_state.h"

#include <array>
#include <cstdio>

namespace holdfast::keys::controller {

KeyState::KeyState(authority::Authority& the_authority, std::uint64_t seed)
    : authority(the_authority), random(seed), last_order_((random.next() >> 32) << 20) {}

std::string KeyState::fresh_name(std::string_view prefix) {
    std::array<char, 33> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx%016llx", static_cast<unsigned long long>(random.next()),
                  static_cast<unsigned long long>(random.next()));
    return std::string(prefix) + digits.data();
}

bool KeyState::is_heard(const Backend& backend) const {
    const Drone* drone = drones.find(backend.drone);
    return drone != nullptr && drone->life == backend.life && drone->healthy(now);
}

std::size_t KeyState::load_of(const Drone& drone) const {
    return backends.live_count(drone.id) + drone.taking;
}

void KeyState::give_back(const Backend& backend, std::function<void()> then) {
    authority::ReleaseRequest request{{}, {resource_of(backend.key), backend.token}, backend.drone};
    request.caller.acts_for = lease::Owner::keys;
    authority.release(
        std::move(request),
        guarded([then = std::move(then)](const authority::Answer<authority::ReleaseAnswer>&) { then(); }));
}

void KeyState::end(const std::string& id, EndReason reason) {
    const Backend* backend = backends.find(id);
    if (backend == nullptr) return;
    if (Drone* drone = drones.find(backend->drone)) drone->orders.forget(id);
    backends.move(id, {BackendState::terminated, reason}, now);
}

bool KeyState::take_back(const std::string& id, EndReason reason) {
    const Backend* backend = backends.find(id);
    if (backend == nullptr || backend->reported) return false;
    const Drone* drone = drones.find(backend->drone);
    const QueuedOrder* start = drone == nullptr ? nullptr : drone->orders.start_of(id);
    if (start == nullptr || start->sent) return false;
    give_back(*backend);
    end(id, reason);
    return true;
}

}  // namespace holdfast::keys::controller
