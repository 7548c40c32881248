#pragma once

#include <string>
#include <string_view>

#include "base/json_fields.h"
#include "base/json_writer.h"
#include "keys/protocol.h"

namespace holdfast::keys {

/// The protocol as JSON (docs/keys.md). What a client or a drone sends is read strictly: no input reaches an assertion,
/// and an error names the field. A drone ignores fields that it does not know, since the controller may be newer.

std::string to_json(const Heartbeat& heartbeat);
std::string to_json(const OrdersRequest& request);
/// The drone is in the path of the request, not in its body.
Result<Heartbeat> heartbeat_from(const JsonValue& body, const std::string& drone);
Result<OrdersRequest> orders_request_from(const JsonValue& body, const std::string& drone);

std::string to_json(const HeartbeatAnswer& answer);
std::string to_json(const OrdersAnswer& answer);
Result<HeartbeatAnswer> heartbeat_answer_from(const JsonValue& body);
/// An order that makes no sense is an UnclearOrder; the others are not affected.
Result<OrdersAnswer> orders_answer_from(const JsonValue& body);

// Parts that clients send and get, too.

/// `"key": {namespace, name, tag}`.
void put_key(JsonWriter& json, const Key& key);

enum class NameNeed : std::uint8_t { required, optional };
/// `{name, namespace?, tag?}`. A null `object` is a key without a name. If `need` is optional, a key without a name is
/// returned with an empty name.
Result<Key> key_from(const JsonValue* object, NameNeed need);

/// Reads the fields of `spawn`. The caller checks for errors, after reading those that it has in addition.
Spawn spawn_from(JsonFields& fields);

/// Error `invalid_argument`, which calls the value by this name, unless it is a plain name.
Result<void> check_plain_name(std::string_view name, std::string_view value, std::size_t max_bytes);
std::string plain_name_field(JsonFields& fields, std::string_view name, std::size_t max_bytes);

}  // namespace holdfast::keys
