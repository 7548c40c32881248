#pragma once

#include <vector>

#include "cli/options.h"
#include "client/server_address.h"

namespace holdfast {

/// Where the relays are, in the order in which they are tried: as given, or on the host of each server, three ports
/// above it.
std::vector<ServerAddress> relay_places(const std::string& given, const CommonOptions& common);

}  // namespace holdfast
