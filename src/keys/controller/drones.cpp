#include "keys/controller/drones.h"

#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "base/rendezvous.h"
#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

/// The lowest wins: late, number of backends, inverted rendezvous weight. Lateness comes first because a late drone may
/// be suspended: it would then have the fewest backends, and would be given each lost one again and again.
using Preference = std::tuple<bool, std::size_t, std::uint64_t>;

}  // namespace

bool Drone::healthy(Instant now) const {
    return now < heard_at + limits::drone_silence;
}

bool Drone::late(Instant now) const {
    return now >= heard_at + limits::drone_late;
}

bool Drone::had_life(const std::string& other) const {
    return std::find(earlier_lives.begin(), earlier_lives.end(), other) != earlier_lives.end();
}

void Drone::had_lives(const std::vector<std::string>& lives) {
    for (const std::string& each : lives)
        if (!had_life(each) && each != life) earlier_lives.push_back(each);
    while (earlier_lives.size() > limits::earlier_lives)
        earlier_lives.pop_front();
}

void Drone::begin_life(const std::string& next) {
    had_lives({std::exchange(life, next)});
    orders = {};
    clock_ms_ = 0;
    reported_at_ms = 0;
    connection = 0;
}

void Drone::hear_clock(std::uint64_t clock_ms, Instant now) {
    if (clock_ms < clock_ms_) return;
    clock_ms_ = clock_ms;
    clock_heard_at_ = now;
}

std::int64_t Drone::clock_ms_at(Instant instant) const {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(clock_ms_) + to_ms(instant - clock_heard_at_));
}

Drone* Drones::find(const std::string& id) {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : &found->second;
}

const Drone* Drones::find(const std::string& id) const {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : &found->second;
}

bool Drones::full() const {
    return all_.size() >= limits::drones;
}

Drone& Drones::add(std::string id, std::string life) {
    Drone drone;
    drone.id = id;
    drone.life = std::move(life);
    const auto [place, added] = all_.emplace(std::move(id), std::move(drone));
    HOLDFAST_ASSERT(added);
    return place->second;
}

Drone* Drones::choose(std::string_view pool, std::string_view resource, const Load& load, Instant now) {
    Drone* best = nullptr;
    Preference best_preference;
    for (auto& [id, drone] : all_) {
        if (drone.pool != pool || !drone.healthy(now) || drone.hung_up || drone.draining || drone.drain ||
            drone.orders.full())
            continue;
        const std::size_t has = load(drone);
        if (has >= drone.capacity) continue;
        const Preference preference{drone.late(now), has, ~rendezvous_weight(id, resource)};
        if (best != nullptr && preference >= best_preference) continue;
        best = &drone;
        best_preference = preference;
    }
    return best;
}

}  // namespace holdfast::keys::controller
