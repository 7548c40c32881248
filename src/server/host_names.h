#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/server.h"

namespace holdfast {

/// The names by which the HTTP door may be called besides IP addresses and localhost, in lower case: this machine's,
/// the one it listens on, and those of `--allow-host`. Error `invalid_argument` for one that is no host name.
Result<std::vector<std::string>> allowed_hosts(const ServeOptions& options, std::string_view machine);

/// As the system calls this machine; empty if it does not.
std::string name_of_this_machine();

}  // namespace holdfast
