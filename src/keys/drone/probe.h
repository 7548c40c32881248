#pragma once

#include <cstdint>
#include <string>

#include "keys/drone/orders.h"

namespace holdfast::drone {

/// True if what listens there answers: takes a connection, or says 2xx or 3xx to a GET. Blocks for some seconds at
/// most.
bool answers(const std::string& host, std::uint16_t port, const Readiness& ready);

}  // namespace holdfast::drone
