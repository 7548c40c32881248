#pragma once

#include <string_view>

namespace holdfast::server {

/// Notifies systemd of the service's state (`READY=1`, `STOPPING=1`) through the socket named in NOTIFY_SOCKET. Does
/// nothing if that is unset, and ignores failures: a service manager that does not listen is no reason to fail.
void tell_service_manager(std::string_view state);

}  // namespace holdfast::server
