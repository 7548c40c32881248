#pragma once

#include <vector>

#include "cli/options.h"
#include "client/server_address.h"

namespace holdfast {

/// The addresses of the relays, in the order in which they are tried: as given, or on the host of each server, at the
/// server's port plus three.
std::vector<ServerAddress> relay_places(const std::string& given, const CommonOptions& common);

}  // namespace holdfast
