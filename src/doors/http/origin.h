#pragma once

#include <string>
#include <vector>

#include "doors/http/request.h"

namespace holdfast::doors::http {

/// Why a request may come from an unrelated web page; empty if it does not. A server has no passwords, so a browser
/// that can reach it must not let every web page in.
///
/// - A page of another site gives itself away by Sec-Fetch-Site, and by an Origin that is not the Host.
/// - A page that rebinds its own name to this server's address (DNS rebinding) has a matching Origin, but gives itself
///   away by its Host: that is an IP address, `localhost` or one of `names`, never a name that another party can point
///   here. A browser always sends a Host, so HTTP/1.0 without one is not a browser.
///
/// `names` are in lower case.
std::string origin_problem(const Request& request, const std::vector<std::string>& names);

}  // namespace holdfast::doors::http
