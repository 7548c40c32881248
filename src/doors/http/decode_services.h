#pragma once

#include <string>

#include "base/result.h"
#include "doors/http/request.h"
#include "services/discovery/directory.h"

namespace holdfast::http {

/// Requests of docs/discovery.md; as decode.h.

/// A signed update: what the body says, and who signed the body.
struct DecodedUpdate {
    discovery::Update update;
    std::string public_key;
    std::string signature;
};
/// Also `bad_signature`, if the header is not there or not well-formed.
Result<DecodedUpdate> decode_service_update(const Request& request);

Result<core::ServiceQuery> decode_service_query(const Request& request);
/// Of a stream of changes: the glob. Empty: all.
Result<std::string> decode_service_glob(const Request& request);

/// The identity that the path names; also `invalid_identity`.
Result<void> decode_identity_only(const Request& request, const std::string& identity);

}  // namespace holdfast::http
