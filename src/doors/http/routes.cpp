#include "doors/http/routes.h"

#include <array>
#include <fmt/format.h>

#include "base/text.h"
#include "doors/http/handlers.h"

namespace holdfast::doors::http {
namespace {

constexpr std::array table{
    Route{"POST", "/v1/leases", "acquire", handle_acquire},
    Route{"GET", "/v1/leases", "list", handle_list},
    Route{"GET", "/v1/leases/{id}", "get", handle_get},
    Route{"DELETE", "/v1/leases/{id}", "release", handle_release},
    Route{"POST", "/v1/leases/{id}/heartbeat", "renew", handle_renew},
    Route{"POST", "/v1/leases/{id}/bar", "bar", handle_bar},
    Route{"POST", "/v1/leases/{id}/revoke", "revoke", handle_revoke},
    Route{"POST", "/v1/heartbeat", "renew_many", handle_renew_many},
    Route{"POST", "/v1/verify", "verify", handle_verify},
    Route{"GET", "/v1/agents", "list_agents", handle_list_agents},
    Route{"GET", "/v1/agents/{id}", "get_agent", handle_get_agent},
    Route{"PUT", "/v1/agents/{id}", "put_agent", handle_put_agent},
    Route{"DELETE", "/v1/agents/{id}", "forget_agent", handle_forget_agent},
    Route{"POST", "/v1/agents/{id}/restarting", "declare_restart", handle_declare_restart},
    Route{"GET", "/v1/leaders/{group}", "get_leader", handle_get_leader},
    Route{"GET", "/v1/quorum", "quorum", handle_quorum},
    Route{"GET", "/v1/store", "store", handle_store},
    Route{"POST", "/v1/connect", "connect", handle_connect},
    Route{"GET", "/v1/keys", "list_keys", handle_list_keys},
    Route{"POST", "/v1/keys/{key}/bar", "bar_key", handle_bar_key},
    Route{"GET", "/v1/backends", "list_backends", handle_list_backends},
    Route{"GET", "/v1/backends/{id}", "get_backend", handle_get_backend},
    Route{"GET", "/v1/backends/{id}/status", "backend_status", handle_backend_status},
    Route{"POST", "/v1/backends/{id}/terminate", "terminate_backend", handle_terminate_backend},
    Route{"GET", "/v1/drones", "list_drones", handle_list_drones},
    Route{"GET", "/v1/drones/{id}", "get_drone", handle_get_drone},
    Route{"DELETE", "/v1/drones/{id}", "forget_drone", handle_forget_drone},
    Route{"POST", "/v1/drones/{id}/drain", "drain_drone", handle_drain_drone},
    Route{"POST", "/v1/drones/{id}/heartbeat", "drone_heartbeat", handle_drone_heartbeat},
    Route{"POST", "/v1/drones/{id}/orders", "drone_orders", handle_drone_orders},
    Route{"POST", "/v1/services", "update_service", handle_update_service},
    Route{"GET", "/v1/services", "list_services", handle_list_services},
    Route{"GET", "/v1/relay", "relay", handle_relay},
    Route{"GET", "/v1/service-events", "service_events", handle_service_events},
    Route{"GET", "/v1/services/{name}", "get_service", handle_get_service},
    Route{"GET", "/v1/approvals", "list_approvals", handle_list_approvals},
    Route{"PUT", "/v1/approvals/{identity}", "approve", handle_approve},
    Route{"DELETE", "/v1/approvals/{identity}", "deny", handle_deny},
    Route{"GET", "/v1/service-rules", "list_service_rules", handle_list_service_rules},
    Route{"PUT", "/v1/service-rules/{name}", "put_service_rule", handle_put_service_rule},
    Route{"DELETE", "/v1/service-rules/{name}", "lift_service_rules", handle_lift_service_rules},
    Route{"GET", "/v1/events", "events", handle_events},
    Route{"GET", "/v1/policy", "get_policy", handle_get_policy},
    Route{"PATCH", "/v1/policy", "change_policy", handle_change_policy},
    Route{"GET", "/v1/bans", "list_bans", handle_list_bans},
    Route{"GET", "/v1/bans/{holder}", "get_ban", handle_get_ban},
    Route{"PUT", "/v1/bans/{holder}", "ban", handle_ban},
    Route{"DELETE", "/v1/bans/{holder}", "unban", handle_unban},
    Route{"GET", "/v1/audit", "audit", handle_audit},
    Route{"GET", "/health", "health", handle_health},
    Route{"GET", "/ready", "ready", handle_ready},
    Route{"GET", "/metrics", "metrics", handle_metrics},
    Route{"GET", "/openapi.json", "openapi", handle_openapi},
};

bool ends_in_token(std::string_view text) {
    const auto decoded = percent_decode(text);
    if (!decoded) return false;
    const std::size_t hash = decoded->rfind('#');
    return hash != std::string::npos && hash + 1 < decoded->size() &&
           decoded->find_first_not_of("0123456789", hash + 1) == std::string::npos;
}

/// A path split into its pattern's fixed parts and the parameter, if it has one.
struct Taken {
    std::string_view before;     // "/v1/leases/"
    std::string_view parameter;  // "a%231"
    std::string_view after;      // "/heartbeat"
};

constexpr std::string_view leases = "/v1/leases/";

/// A prefix whose rest is a name that may contain slashes and may be followed by one of these verbs.
struct Named {
    std::string_view before;
    std::array<std::string_view, 3> verbs;
};
constexpr std::array named{
    Named{"/v1/bans/", {}},
    Named{"/v1/approvals/", {}},
    Named{"/v1/services/", {}},
    Named{"/v1/service-rules/", {}},
    Named{"/v1/leaders/", {}},
    Named{"/v1/agents/", {"/restarting"}},
    Named{"/v1/keys/", {"/bar"}},
    Named{"/v1/backends/", {"/status", "/terminate"}},
    Named{"/v1/drones/", {"/drain", "/heartbeat", "/orders"}},
};

Taken take_apart(const Named& kind, std::string_view path) {
    const std::string_view name = path.substr(kind.before.size());
    for (const std::string_view verb : kind.verbs)
        if (!verb.empty() && name.ends_with(verb))
            return {kind.before, name.substr(0, name.size() - verb.size()), verb};
    return {kind.before, name, {}};
}

Taken take_apart(std::string_view path) {
    for (const Named& kind : named)
        if (path.starts_with(kind.before)) return take_apart(kind, path);
    if (!path.starts_with(leases)) return {path, {}, {}};
    const std::string_view rest = path.substr(leases.size());
    const std::size_t slash = rest.rfind('/');
    if (!ends_in_token(rest) && slash != std::string_view::npos && ends_in_token(rest.substr(0, slash)))
        return {leases, rest.substr(0, slash), rest.substr(slash)};
    return {leases, rest, {}};
}

/// Clients cut a URL at `#` before they send it, which also removes a verb after the token.
std::string lease_problem(const Taken& taken, std::string_view parameter) {
    if (taken.before != leases || parameter.empty() || ends_in_token(taken.parameter)) return {};
    std::string shown(parameter.substr(0, 100));
    if (shown.size() < parameter.size() || !is_utf8(shown)) shown = "RESOURCE";
    return fmt::format(
        "a lease is named resource#token, and '{}' has no token. In a URL write the # as %23, since clients cut off "
        "what "
        "follows a #: {}{}%23TOKEN",
        shown, leases, percent_encode(shown));
}

bool fits(std::string_view pattern, const Taken& taken) {
    const std::size_t open = pattern.find('{');
    if (open == std::string_view::npos) return taken.parameter.empty() && pattern == taken.before;
    const std::size_t close = pattern.find('}');
    return !taken.parameter.empty() && pattern.substr(0, open) == taken.before &&
           pattern.substr(close + 1) == taken.after;
}

}  // namespace

std::span<const Route> routes() {
    return table;
}

Match find_route(std::string_view method, std::string_view path) {
    const std::string_view wanted = method == "HEAD" ? "GET" : method;
    const Taken taken = take_apart(path);
    Match match;
    auto parameter = percent_decode(taken.parameter);
    if (!parameter) return match;
    match.problem = lease_problem(taken, *parameter);
    for (const Route& route : table) {
        if (!fits(route.pattern, taken)) continue;
        if (route.method == wanted) return {&route, std::move(*parameter), {}, std::move(match.problem)};
        match.allow += (match.allow.empty() ? "" : ", ") + std::string(route.method);
        if (route.method == "GET") match.allow += ", HEAD";
    }
    return match;
}

}  // namespace holdfast::doors::http
