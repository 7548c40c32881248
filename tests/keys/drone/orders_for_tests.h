#pragma once

#include <gtest/gtest.h>

#include "keys/drone/drone_core.h"

namespace holdfast::keys::drone {

constexpr HolderInstant at(Duration since_start) {
    return HolderInstant{1000s + since_start};
}

/// A backend that is ready once it runs, under a key of 60 s that was granted at this instant of the drone's clock.
inline SpawnOrder spawn_order(const std::string& id = "b-1", HolderInstant granted = at(0s)) {
    SpawnOrder order{.backend = id, .key = {"default", "room-" + id, ""}, .token = 17, .ttl = 60s};
    order.deadlines = {granted + 30s, granted + 40s, granted + 50s};
    order.spawn.command = "serve";
    order.spawn.ready = {Readiness::How::started};
    return order;
}

}  // namespace holdfast::keys::drone
