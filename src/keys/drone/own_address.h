#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace holdfast::drone {

/// Where the backends of a drone are reached.
struct OwnAddress {
    std::string handed_out;                ///< to whoever connects, and what readiness is probed at
    std::string bind;                      ///< what a backend is to listen at, a number
    std::optional<std::string> warning{};  ///< what the admin should know
};

/// `given` is empty if nobody said anything: then 127.0.0.1, if all controllers are on this machine. Error
/// `invalid_argument` if clients of a controller elsewhere would be sent to themselves, or to no host at all.
/// REQUIRES: the controllers are URLs that parse_server() accepts.
Result<OwnAddress> own_address(const std::string& given, const std::vector<std::string>& controllers);

}  // namespace holdfast::drone
