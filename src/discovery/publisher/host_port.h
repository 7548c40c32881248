#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/server_address.h"

namespace holdfast::discovery::publisher {

inline constexpr std::uint16_t relay_port = 7403;

/// HOST:PORT, with brackets around an IPv6 address. The port may be missing only if there is a default. Error
/// `invalid_argument`.
Result<client::ServerAddress> parse_host_port(std::string_view text, std::optional<std::uint16_t> default_port = {});

/// One or more relays, separated by commas. Error `invalid_argument`, also for more than max_relays.
inline constexpr std::size_t max_relays = 16;
Result<std::vector<client::ServerAddress>> parse_relays(std::string_view text);

}  // namespace holdfast::discovery::publisher
