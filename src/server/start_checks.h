#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/server.h"

namespace holdfast::server {

/// Refuses an address that other machines can reach, unless the operator passed `--insecure`: anyone who can connect
/// may take, release and revoke leases. Error `insecure_address`, or `invalid_argument` if it is not HOST:PORT.
Result<void> check_listen_address(std::string_view address, bool insecure);

/// A warning for the start of the server: what anyone on the network can do through doors at these addresses. Empty if
/// all are on loopback.
struct BoundDoors {
    std::string http, resp, relay;  ///< HOST:PORT as bound; empty: none
    bool allow_spawn = false;
};
std::string exposure(const BoundDoors& doors);

/// The default address of a door: the host of HTTP, and `above` ports above its port, as 7401 is one above 7400. A free
/// port if HTTP has a free one, or if that port would exceed 65535. REQUIRES: the address is HOST:PORT.
std::string address_beside(std::string_view http, unsigned above);

/// The host names that the HTTP door accepts besides IP addresses and localhost, in lower case: this machine's, the one
/// it listens on, and those of `--allow-host`. Error `invalid_argument` if one of those is not a host name.
Result<std::vector<std::string>> allowed_hosts(const ServeOptions& options, std::string_view machine);

/// The host name of this machine; empty if the system has none.
std::string name_of_this_machine();

/// Checks that a server can start at this wall-clock time. Fencing tokens start from it (G3), and times are kept in
/// nanoseconds since 1970, which last until 2262. Error `clock_unusable`.
Result<void> check_wall_clock(std::int64_t wall_ms);

}  // namespace holdfast::server
