#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace holdfast::drone {

/// The addresses of a drone's backends.
struct OwnAddress {
    std::string handed_out;                ///< given to clients and used for readiness probes
    std::string bind;                      ///< the IP address that backends listen on
    std::optional<std::string> warning{};  ///< for the admin
};

/// An empty `given` means 127.0.0.1, which is allowed only if all controllers are on this machine. Error
/// `invalid_argument` if it is empty and a controller is on another machine, whose clients would then connect to
/// themselves, or if it is not a host that a client can connect to.
/// REQUIRES: the controllers are URLs that parse_server() accepts.
Result<OwnAddress> own_address(const std::string& given, const std::vector<std::string>& controllers);

}  // namespace holdfast::drone
