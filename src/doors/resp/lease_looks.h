#pragma once

#include "doors/resp/exchange.h"

namespace holdfast {

void verify_command(Exchange& exchange);  ///< LEASE.VERIFY resource token [resource token …] | HOLDER holder
void get_command(Exchange& exchange);     ///< LEASE.GET resource [token]
void list_command(Exchange& exchange);    ///< LEASE.LIST [HOLDER h] [PREFIX p] [NAMESPACE n] [LIMIT n] [AFTER cursor]

}  // namespace holdfast
