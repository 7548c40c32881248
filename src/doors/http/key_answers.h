#pragma once

#include <string>

#include "doors/http/response.h"
#include "keys/controller/messages.h"

namespace holdfast::http {

/// Answers of the key system as docs/http-api.md and docs/keys.md write them.

/// 201 if a backend was started for it.
Response answer_connect(const core::Connected& connected);
Response answer_keys(const core::KeyPage& page);
Response answer_key(const core::HeldKey& key);

Response answer_backend(const core::BackendView& backend, Instant now);
Response answer_backends(const core::BackendPage& page, const core::UnreportedBackends& unreported, Instant now);
/// An event of a backend's status stream.
std::string status_event(const core::BackendView& backend, Instant now);

Response answer_drone(const core::DroneView& drone);
Response answer_drones(const core::DronePage& page);
Response answer_forgotten(const core::DroneView& drone);
Response answer_drone_heartbeat(const core::HeartbeatAnswer& answer, const std::string& controller);
Response answer_orders(const core::OrdersAnswer& answer, const std::string& controller);

}  // namespace holdfast::http
