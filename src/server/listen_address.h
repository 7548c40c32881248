#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast {

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

}  // namespace holdfast
