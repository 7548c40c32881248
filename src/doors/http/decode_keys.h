#pragma once

#include <string>

#include "base/result.h"
#include "doors/http/decode.h"
#include "doors/http/request.h"
#include "keys/controller/messages.h"

namespace holdfast::http {

/// Requests of the key system (docs/keys.md), checked for form. Errors as in decode.h.

Result<core::ConnectRequest> decode_connect(const Request& request);

struct DecodedBackends {
    core::Backends::Filter filter;
    DecodedPage page;
};
Result<DecodedBackends> decode_backends(const Request& request);
Result<core::Severity> decode_terminate(const Request& request);

struct DecodedKeys {
    std::string name_space;
    std::size_t limit = 100;
    std::string after;
};
Result<DecodedKeys> decode_keys(const Request& request);
/// `name`, or `namespace/name`, as the path has it.
Result<core::Key> decode_key_only(const Request& request, const std::string& key);

Result<core::Heartbeat> decode_drone_heartbeat(const Request& request, const std::string& drone);
Result<core::OrdersRequest> decode_orders(const Request& request, const std::string& drone);
Result<bool> decode_drain(const Request& request);

}  // namespace holdfast::http
