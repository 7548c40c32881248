#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/server.h"

namespace holdfast {

/// The host names that the HTTP door accepts besides IP addresses and localhost, in lower case: this machine's, the one
/// it listens on, and those of `--allow-host`. Error `invalid_argument` if one of those is not a host name.
Result<std::vector<std::string>> allowed_hosts(const ServeOptions& options, std::string_view machine);

/// The host name of this machine; empty if the system has none.
std::string name_of_this_machine();

}  // namespace holdfast
