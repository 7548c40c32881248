#pragma once

#include <span>
#include <string_view>

#include "base/time.h"
#include "doors/resp/exchange.h"
#include "redis/redis_scripts.h"

namespace holdfast {

/// Runs a script over several keys, and replies. To take or extend them is all or nothing, as a manifest is (G1): it
/// looks at all of them first, and gives back what it took if one was taken from under it.
void run_over_keys(Exchange& exchange, const redis::Script& script, std::span<const std::string_view> keys,
                   std::string_view value, Duration ttl);

}  // namespace holdfast
