#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "client/server_address.h"

namespace holdfast::discovery {

inline constexpr std::uint16_t relay_port = 7403;

/// HOST:PORT, with brackets around an IPv6 number; without a port only if there is a default for it. Error
/// `invalid_argument`.
Result<ServerAddress> parse_host_port(std::string_view text, std::optional<std::uint16_t> default_port = {});

}  // namespace holdfast::discovery
