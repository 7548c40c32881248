#pragma once

#include <string_view>

namespace holdfast {

/// Tells systemd what the service does (`READY=1`, `STOPPING=1`), by the socket it names in NOTIFY_SOCKET. Nothing if
/// there is none: a service manager that does not listen is no reason to fail.
void tell_service_manager(std::string_view state);

}  // namespace holdfast
