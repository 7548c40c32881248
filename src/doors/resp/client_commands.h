#pragma once

#include <string_view>

#include "doors/resp/exchange.h"

namespace holdfast {

/// CLIENT SETNAME, GETNAME, ID, SETINFO, INFO, LIST, NO-EVICT, NO-TOUCH.
void client_command(Exchange& exchange);

/// As Redis has it: no blanks, no control characters, nothing beyond ASCII.
bool is_client_name(std::string_view name);
inline constexpr std::string_view bad_client_name =
    "Client names cannot contain spaces, newlines or special characters.";

}  // namespace holdfast
