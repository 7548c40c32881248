#pragma once

#include "doors/resp/exchange.h"

namespace holdfast {

/// Handlers of key_commands() that have files of their own.

// redis_scan.cpp
void redis_keys_command(Exchange& exchange);
void redis_scan_command(Exchange& exchange);

// redis_members.cpp
void redis_sadd_command(Exchange& exchange);
void redis_srem_command(Exchange& exchange);
void redis_sismember_command(Exchange& exchange);
void redis_smembers_command(Exchange& exchange);
void redis_scard_command(Exchange& exchange);

}  // namespace holdfast
