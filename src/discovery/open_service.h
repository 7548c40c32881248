#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "client/server_address.h"

namespace holdfast::discovery {

/// A connected socket, blocking, closed on exec, that the caller owns. Waits. Error with the code of a StreamFailed,
/// `unreachable` or `malformed`.
Result<int> open_service(const ServerAddress& relay, const std::string& name, Duration timeout);

}  // namespace holdfast::discovery
