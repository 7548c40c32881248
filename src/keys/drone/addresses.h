#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::keys::drone {

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

/// A TCP port that is not in use and not in `taken`; nullopt if there is none.
std::optional<std::uint16_t> free_port(const std::set<std::uint16_t>& taken);

/// Those of the `watched` local ports that have an established connection, according to the kernel's tables.
std::vector<std::uint16_t> busy_ports(const std::vector<std::uint16_t>& watched);

/// The local ports with an established connection, from the text of /proc/net/tcp or tcp6.
std::set<std::uint16_t> established_ports(std::string_view table);

}  // namespace holdfast::keys::drone
