#include "doors/http/routes.h"

#include <array>

#include "base/text.h"
#include "doors/http/handlers.h"

namespace holdfast::http {
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
    Route{"GET", "/v1/events", "events", handle_events},
    Route{"GET", "/v1/policy", "get_policy", handle_get_policy},
    Route{"PATCH", "/v1/policy", "change_policy", handle_change_policy},
    Route{"GET", "/v1/bans", "list_bans", handle_list_bans},
    Route{"GET", "/v1/bans/{holder}", "get_ban", handle_get_ban},
    Route{"PUT", "/v1/bans/{holder}", "ban", handle_ban},
    Route{"DELETE", "/v1/bans/{holder}", "unban", handle_unban},
    Route{"GET", "/v1/audit", "audit", handle_audit},
    Route{"GET", "/health", "health", handle_health},
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

/// A path taken apart: its pattern's fixed parts, and what stands for the parameter, if it has one.
struct Taken {
    std::string_view before;     // "/v1/leases/"
    std::string_view parameter;  // "a%231"
    std::string_view after;      // "/heartbeat"
};

constexpr std::string_view leases = "/v1/leases/";
constexpr std::string_view agents = "/v1/agents/";
constexpr std::string_view bans = "/v1/bans/";
constexpr std::string_view leaders = "/v1/leaders/";

Taken take_apart_agent(std::string_view path) {
    static constexpr std::string_view restarting = "/restarting";
    std::string_view id = path.substr(agents.size());
    if (!id.ends_with(restarting)) return {agents, id, {}};
    id.remove_suffix(restarting.size());
    return {agents, id, restarting};
}

Taken take_apart(std::string_view path) {
    if (path.starts_with(bans)) return {bans, path.substr(bans.size()), {}};
    if (path.starts_with(leaders)) return {leaders, path.substr(leaders.size()), {}};
    if (path.starts_with(agents)) return take_apart_agent(path);
    if (!path.starts_with(leases)) return {path, {}, {}};
    const std::string_view rest = path.substr(leases.size());
    const std::size_t slash = rest.rfind('/');
    if (!ends_in_token(rest) && slash != std::string_view::npos && ends_in_token(rest.substr(0, slash)))
        return {leases, rest.substr(0, slash), rest.substr(slash)};
    return {leases, rest, {}};
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
    for (const Route& route : table) {
        if (!fits(route.pattern, taken)) continue;
        if (route.method == wanted) return {&route, std::move(*parameter), {}};
        match.allow += (match.allow.empty() ? "" : ", ") + std::string(route.method);
        if (route.method == "GET") match.allow += ", HEAD";
    }
    return match;
}

}  // namespace holdfast::http
