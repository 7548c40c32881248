#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast {

/// Refuses to listen where others than this machine can connect, unless the operator said `--insecure`: anybody who can
/// connect may take, release and revoke. Error `insecure_address`, or `invalid_argument` if it is not HOST:PORT.
Result<void> check_listen_address(std::string_view address, bool insecure);

/// Where the RESP door listens if nobody says: on the same host as HTTP, one port above it, as 7401 is above 7400; on a
/// free one if HTTP has a free one. REQUIRES: the address is HOST:PORT.
std::string resp_address_beside(std::string_view http);

}  // namespace holdfast
