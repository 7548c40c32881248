#pragma once

#include "cli/options.h"
#include "client/server_address.h"

namespace holdfast {

/// Where the relay is: as given, or on the host of the server, of the first if there are several, three ports above it.
ServerAddress relay_place(const std::string& given, const CommonOptions& common);

}  // namespace holdfast
