#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "doors/http/reply.h"
#include "doors/http/request.h"

namespace holdfast::doors::http {

using Handler = void (*)(Services& services, const Request& request, const std::string& parameter, Reply reply);

/// One line of docs/http-api.md. `operation` is the operationId in docs/openapi.json and the verb in the metrics.
struct Route {
    std::string_view method;
    std::string_view pattern;  ///< with at most one {parameter}
    std::string_view operation;
    Handler handler;
};
std::span<const Route> routes();

/// The route of a path and a method.
struct Match {
    const Route* route = nullptr;  ///< null: see `allow`
    std::string parameter;         ///< decoded
    std::string allow;             ///< the methods this path accepts, if not this one; empty if the path is unknown
    std::string problem{};         ///< set if a lease's path has no valid lease name: why, and what to write instead
};

/// A parameter may contain unescaped slashes. A lease's name ends in `#digits`, so a slash after that starts the verb.
/// An agent's id or a key may contain any slashes; only one of its own verbs at the end (`/restarting`, `/bar`) is a
/// verb, unless its slash is escaped. A HEAD request uses the route of its GET.
Match find_route(std::string_view method, std::string_view path);

/// docs/openapi.json, as it was when this was built.
std::string_view openapi_json();

}  // namespace holdfast::doors::http
