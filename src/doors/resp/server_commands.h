#pragma once

#include <string_view>

#include "doors/resp/exchange.h"

namespace holdfast {

/// The Redis version whose commands these are, for client libraries that check.
inline constexpr std::string_view redis_version = "7.0.15";

inline constexpr int databases = 16;  ///< namespaces of keys that SELECT can choose

void info_command(Exchange& exchange);
void config_command(Exchange& exchange);   ///< CONFIG GET
void command_command(Exchange& exchange);  ///< COMMAND, COMMAND COUNT, INFO, DOCS, LIST

}  // namespace holdfast
