#pragma once

#include <string>

#include "doors/http/request.h"

namespace holdfast::http {

/// Why a request may come from a web page that has no business here; empty if it does not. A server on loopback asks
/// for no password, so the browser of the one who runs it must not become everybody's way in.
///
/// - A page of another origin gives itself away by its Origin.
/// - A page that rebinds its own name to 127.0.0.1 (DNS rebinding) has a matching Origin, but gives itself away by
///   its Host: on loopback that is an address or `localhost`, never a name that somebody else can point here.
std::string origin_problem(const Request& request, bool listens_on_loopback);

}  // namespace holdfast::http
