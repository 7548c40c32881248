#pragma once

#include <string>

namespace holdfast {

/// The default holder: `user@host`. The same user on the same machine is the same holder in every command, so that one
/// command can renew and release a lease that another acquired.
std::string default_holder();

}  // namespace holdfast
