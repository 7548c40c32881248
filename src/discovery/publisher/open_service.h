#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "client/server_address.h"

namespace holdfast::discovery {

/// A connected socket, blocking, closed on exec, that the caller owns. Waits. Error with the code of a StreamFailed,
/// `unreachable` or `malformed`; `cancelled` after a stop. Asks the relays in order, until one of them can be reached.
Result<int> open_service(const std::vector<ServerAddress>& relays, const std::string& name, Duration timeout,
                         const std::stop_token& stop = {});

}  // namespace holdfast::discovery
