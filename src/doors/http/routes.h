#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "doors/http/exchange.h"
#include "doors/http/request.h"

namespace holdfast::http {

using Handler = void (*)(Services& services, const Request& request, const std::string& parameter, Reply reply);

/// One line of docs/http-api.md. `operation` is the operationId in docs/openapi.json and the verb in the metrics.
struct Route {
    std::string_view method;
    std::string_view pattern;  ///< with at most one {parameter}
    std::string_view operation;
    Handler handler;
};
std::span<const Route> routes();

/// Where a path and a method lead.
struct Match {
    const Route* route = nullptr;  ///< nothing: see `allow`
    std::string parameter;         ///< decoded
    std::string allow;             ///< the methods this path takes, if not this one; empty if there is no such path
    std::string problem{};         ///< the path is that of a lease and names none: why, and what to write instead
};

/// Slashes may stand unescaped in a parameter: a lease's name ends in `#digits`, so what follows a slash after that is
/// the verb. An agent's id or a key may hold any; only a verb of its own at the end (`/restarting`, `/bar`) is one,
/// unless its slash is escaped. A HEAD goes where its GET would.
Match find_route(std::string_view method, std::string_view path);

}  // namespace holdfast::http
