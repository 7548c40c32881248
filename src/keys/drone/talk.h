#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "client/transport.h"
#include "keys/drone/backend.h"

namespace holdfast::keys::drone {

/// The messages between a drone and its controllers (docs/keys.md), as values.

/// One backend in a heartbeat.
struct BackendReport {
    std::string id;
    Key key{};
    std::uint64_t token = 0;
    Duration ttl{};
    BackendState state = BackendState::loading;
    Duration state_for{};  ///< how long it has been in this state
    std::optional<EndReason> reason{};
    std::optional<int> exit_code{};
    std::string message{};
    std::uint16_t port = 0;               ///< zero: none yet
    std::optional<Duration> holds_for{};  ///< none: it does not hold the key
    std::uint64_t version = 0;
};

struct HeartbeatAsk {
    std::size_t controller = 0;
    HolderInstant clock{};
    bool draining = false;
    bool all = false;
    std::optional<std::string> reassert{};  ///< the controller incarnation that is asked to restore the keys
    std::vector<BackendReport> backends{};
};
struct HeartbeatAnswer {
    std::string controller;
    bool send_all = false;
    bool drain = false;
    Duration heartbeat_in = 7s;
    std::vector<std::string> reasserted{};
};

struct OrdersAsk {
    std::size_t controller = 0;
    HolderInstant clock{};
    std::string controller_life{};  ///< the controller incarnation that the numbers in `done` belong to
    std::vector<std::uint64_t> done{};
    Duration wait{};
};
struct OrdersAnswer {
    std::string controller;
    std::vector<Order> orders{};
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
