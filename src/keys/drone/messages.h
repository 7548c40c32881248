#pragma once

#include <string>

#include "client/http_link.h"
#include "keys/drone/talk.h"

namespace holdfast::keys::drone {

/// The drone's messages as JSON. Answers are validated before they are used (docs/keys.md).

/// The identity of the drone.
struct Identity {
    std::string id;
    std::string life;                        ///< random, new with every start
    std::vector<std::string> earlier_lives;  ///< no process of these is alive
    std::string pool;
    std::size_t capacity = 0;
    std::string address;  ///< the host of the backends
};

/// True for a valid name of a drone or a backend: 1 to 128 letters, digits, `-`, `_` and `.`, not starting with a dot.
/// Such a name is also a safe file name.
bool is_name(std::string_view text);

client::HttpRequest heartbeat_request(const Identity& drone, const HeartbeatAsk& ask);
client::HttpRequest orders_request(const Identity& drone, const OrdersAsk& ask);
client::HttpRequest renew_request(const Identity& drone, const RenewAsk& ask);

Result<HeartbeatAnswer> read_heartbeat(const client::HttpResponse& response);
Result<OrdersAnswer> read_orders(const client::HttpResponse& response);
Result<std::vector<client::RenewReply>> read_renewal(const RenewAsk& ask, const client::HttpResponse& response);

/// `HOST:PORT`, with brackets around an IPv6 address.
std::string address_of(const std::string& host, std::uint16_t port);

}  // namespace holdfast::keys::drone
