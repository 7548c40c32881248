#pragma once

#include <string_view>

#include "base/result.h"

namespace holdfast {

/// Refuses to listen where others than this machine can connect, unless the operator said `--insecure`: anybody who can
/// connect may take, release and revoke. Error `insecure_address`, or `invalid_argument` if it is not HOST:PORT.
Result<void> check_listen_address(std::string_view address, bool insecure);

}  // namespace holdfast
