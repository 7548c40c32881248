#pragma once

#include <string>

#include "client/http_link.h"
#include "keys/drone/talk.h"

namespace holdfast::drone {

/// What a drone says as JSON, and what it is told, checked before it is believed (docs/keys.md).

/// Who the drone is.
struct Identity {
    std::string id;
    std::string life;                        ///< random, and new with every start
    std::vector<std::string> earlier_lives;  ///< nothing of them is alive
    std::string pool;
    std::size_t capacity = 0;
    std::string address;  ///< the host under which backends are reached
};

/// True for what may name a drone or a backend: 1 to 128 letters, digits, `-`, `_` and `.`, not first a dot. Such a
/// name is also a safe file name.
bool is_name(std::string_view text);

HttpRequest heartbeat_request(const Identity& drone, const HeartbeatAsk& ask);
HttpRequest orders_request(const Identity& drone, const OrdersAsk& ask);
HttpRequest renew_request(const Identity& drone, const RenewAsk& ask);

Result<HeartbeatAnswer> read_heartbeat(const HttpResponse& response);
Result<OrdersAnswer> read_orders(const HttpResponse& response);
Result<std::vector<RenewReply>> read_renewal(const RenewAsk& ask, const HttpResponse& response);

/// `HOST:PORT`, with brackets around an IPv6 number.
std::string address_of(const std::string& host, std::uint16_t port);

}  // namespace holdfast::drone
