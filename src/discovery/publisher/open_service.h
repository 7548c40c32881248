#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "client/server_address.h"

namespace holdfast::discovery {

/// Returns a connected, blocking, close-on-exec socket, owned by the caller. Blocks. The error has the code of a
/// StreamFailed, `unreachable` or `malformed`; `cancelled` after a stop. Tries the relays in order until one can be
/// reached.
Result<int> open_service(const std::vector<ServerAddress>& relays, const std::string& name, Duration timeout,
                         const std::stop_token& stop = {});

}  // namespace holdfast::discovery
