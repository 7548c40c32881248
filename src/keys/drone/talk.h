#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/transport.h"
#include "keys/drone/backend.h"

namespace holdfast::keys::drone {

/// What a drone asks its controllers, as values: the messages of the protocol, each with what the drone has to know
/// when it is answered.

struct HeartbeatAsk {
    std::size_t controller = 0;
    Heartbeat message{};
    std::vector<std::uint64_t> versions{};  ///< of its backends, in the same order
};

struct OrdersAsk {
    std::size_t controller = 0;
    OrdersRequest message{};
};

/// Renews all keys that are due.
struct RenewAsk {
    HolderInstant clock{};  ///< the deadlines count from here (T3)
    std::vector<std::string> backends{};
    std::vector<std::string> leases{};  ///< in the same order
    Duration timeout{};
};
struct RenewAnswer {
    std::size_t controller = 0;  ///< the index of the one that answered
    Result<std::vector<client::RenewReply>> replies;
};

}  // namespace holdfast::keys::drone
