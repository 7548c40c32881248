#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast {

/// Refuses to listen where others than this machine can connect, unless the operator said `--insecure`: anybody who can
/// connect may take, release and revoke. Error `insecure_address`, or `invalid_argument` if it is not HOST:PORT.
Result<void> check_listen_address(std::string_view address, bool insecure);

/// What anybody on the network can do to a server with doors at these addresses, for a warning at its start. Empty if
/// all are on loopback.
struct BoundDoors {
    std::string http, resp, relay;  ///< HOST:PORT as bound; empty: none
    bool allow_spawn = false;
};
std::string exposure(const BoundDoors& doors);

/// Where a door listens if nobody says: on the same host as HTTP, so many ports above it, as 7401 is one above 7400; on
/// a free one if HTTP has a free one, or if there is none so far above. REQUIRES: the address is HOST:PORT.
std::string address_beside(std::string_view http, unsigned above);

}  // namespace holdfast
