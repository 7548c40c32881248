#pragma once

#include <string>

#include "client/http_connection.h"
#include "keys/drone/talk.h"

namespace holdfast::keys::drone {

/// The drone's requests, and what servers answer. Answers are validated before they are used (docs/keys.md).

client::HttpRequest heartbeat_request(const Heartbeat& heartbeat);
client::HttpRequest orders_request(const OrdersRequest& request);
client::HttpRequest renew_request(const std::string& drone, const RenewAsk& ask);

Result<HeartbeatAnswer> read_heartbeat(const client::HttpResponse& response);
Result<OrdersAnswer> read_orders(const client::HttpResponse& response);
Result<std::vector<client::RenewReply>> read_renewal(const RenewAsk& ask, const client::HttpResponse& response);

}  // namespace holdfast::keys::drone
