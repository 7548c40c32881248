#pragma once

#include "doors/resp/exchange.h"

namespace holdfast {

/// Handlers of key_commands(), by file.

// redis_scan.cpp
void redis_keys_command(Exchange& exchange);
void redis_scan_command(Exchange& exchange);

// key_commands.cpp
void redis_sadd_command(Exchange& exchange);
void redis_srem_command(Exchange& exchange);
void redis_sismember_command(Exchange& exchange);
void redis_smembers_command(Exchange& exchange);
void redis_scard_command(Exchange& exchange);

}  // namespace holdfast
