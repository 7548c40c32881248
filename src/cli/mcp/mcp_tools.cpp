#include "cli/mcp/mcp_tools.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "cli/mcp/mcp_tool_list.h"
#include "cli/mcp/mcp_words.h"

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::int64_t list_default = 100;
/// A filter that matches little may need many pages; each is a bounded amount of work for the server.
constexpr int max_pages = 200;

json::array as_array(const std::vector<std::string>& texts) {
    json::array list;
    for (const std::string& text : texts)
        list.emplace_back(text);
    return list;
}

/// True if the lease is on what was asked for, on something below it, or on a tree that it is in.
bool concerns(std::string_view resource, std::string_view asked) {
    const auto is_in = [](std::string_view name, std::string_view tree) {
        return tree.ends_with("/**") && name.starts_with(tree.substr(0, tree.size() - 2));
    };
    return resource == asked || is_in(asked, resource) || resource.starts_with(std::string(asked) + "/") ||
           is_in(resource, asked);
}

bool concerns_any(std::string_view resource, const std::vector<std::string>& asked) {
    return std::any_of(asked.begin(), asked.end(), [&](const std::string& one) { return concerns(resource, one); });
}

McpOutcome holds_nothing() {
    return {"You hold nothing.", {{"results", json::array{}}}, false};
}

}  // namespace

McpTools::McpTools(Config config, McpAgent& agent, McpLeases& leases, std::function<void()> on_new_lease)
    : config_(std::move(config)), agent_(agent), leases_(leases), on_new_lease_(std::move(on_new_lease)) {}

bool McpTools::waits(const McpCall& call) {
    return call.tool == "claim_intents" && number_of(call.arguments, "wait_ms") > 0;
}

McpOutcome McpTools::run(const McpCall& call, Cancellation& cancellation) {
    Api api{config_.servers};
    McpOutcome outcome;
    {
        const Cancellation::Covers covers(cancellation, api.connection());
        outcome = do_call(api, call);
    }
    // A loss counts as told only if somebody still listens.
    if (!cancellation.cancelled()) tell_lost(outcome, leases_.take_lost(holder_clock_now()));
    return outcome;
}

McpOutcome McpTools::do_call(Api& api, const McpCall& call) {
    McpArguments arguments{call.arguments};
    if (call.tool == "claim_intents") return claim(api, arguments);
    if (call.tool == "extend_intents") return extend(api, arguments);
    if (call.tool == "release_intents") return release(api, arguments);
    if (call.tool == "verify_intents") return verify(api, arguments);
    return list(api, arguments);
}

std::vector<std::string> McpTools::named_or_all(McpArguments& arguments) {
    std::vector<std::string> names = arguments.texts("leases", max_mcp_leases);
    if (names.empty())
        for (const McpLeases::Held& lease : leases_.held(holder_clock_now()))
            names.push_back(lease.id);
    return names;
}

McpOutcome McpTools::extend(Api& api, McpArguments& arguments) {
    const auto names = named_or_all(arguments);
    const auto ttl = arguments.milliseconds("ttl_ms", max_mcp_ttl);
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (names.empty()) return holds_nothing();
    json::object body = agent_.signature();
    body["leases"] = as_array(names);
    if (ttl) body["ttl_ms"] = ttl->count();
    const HolderInstant sent_at = holder_clock_now();
    const auto answer = api.send("POST", "/v1/heartbeat", body);
    if (!answer) return no_server(answer.error());
    if (!answer->ok()) return refused(*answer);
    json::array results;
    std::string cut;
    std::size_t renewed = 0;
    for (const json::value& result : array_of(answer->body, "results")) {
        const json::value& lease = field_of(result, "lease");
        const std::string id = text_of(result, "id");
        const bool kept = text_of(result, "result") == "RENEWED" && leases_.keep(lease, sent_at, holder_clock_now());
        const json::value& error = field_of(result, "error");
        const std::string code = text_of(error, "code");
        if (means_lost(code)) leases_.lose(id, {code, text_of(error, "message")});
        if (cut.empty()) cut = describe_cut(result);
        renewed += kept ? 1 : 0;
        json::object one = kept ? brief(lease) : json::object{{"id", id}, {"error", error}};
        one["result"] = kept ? "RENEWED" : "REJECTED";
        results.push_back(std::move(one));
    }
    on_new_lease_();
    McpOutcome outcome{std::to_string(renewed) + " of " + std::to_string(names.size()) + " renewed.",
                       {{"results", std::move(results)}},
                       renewed != names.size()};
    add_notes(outcome, cut.empty() ? json::array{} : json::array{json::value(cut)});
    return outcome;
}

std::vector<std::string> McpTools::held_by_path(const std::string& path) const {
    // What was claimed as a file may be a directory by now, or the other way round. The name of a resource will do too.
    std::set<std::string> names{path};
    if (const auto resolved = named(path)) {
        for (const std::string& name : resolved->names) {
            names.insert(name);
            names.insert(name.ends_with("/**") ? name.substr(0, name.size() - 3) : name + "/**");
        }
    }
    std::vector<std::string> ids;
    for (const McpLeases::Held& lease : leases_.held(holder_clock_now()))
        if (names.contains(lease.resource) || lease.paths.contains(path)) ids.push_back(lease.id);
    return ids;
}

McpOutcome McpTools::release(Api& api, McpArguments& arguments) {
    const bool all = arguments.flag("all").value_or(false);
    std::vector<std::string> names = arguments.texts("leases", max_mcp_leases);
    const auto paths = arguments.texts("paths", max_mcp_leases);
    if ((names.empty() && paths.empty()) != all)
        arguments.complain("give either leases or paths, or else \"all\": true");
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    json::array results;
    for (const std::string& path : paths) {
        const auto held = held_by_path(path);
        names.insert(names.end(), held.begin(), held.end());
        if (held.empty()) results.push_back({{"path", path}, {"state", "NOT_HELD"}});
    }
    if (all) names = named_or_all(arguments);
    bool failed = false;
    for (const std::string& id : std::set<std::string>(names.begin(), names.end())) {
        leases_.forget(id);  // even if the server cannot be told: it then runs out
        const auto answer = api.remove(lease_target(id) + "?" + agent_.query(id));
        if (!answer)
            return no_server({answer.error().code, answer.error().message + "; what was not told of ends by itself"});
        failed = failed || !answer->ok();
        json::object one{{"id", id}};
        if (answer->ok()) one["state"] = field_of(answer->body, "state");
        if (!answer->ok()) one["error"] = field_of(answer->body, "error");
        results.push_back(std::move(one));
    }
    const std::string text = failed ? "Some could not be released; see the errors." : "Released.";
    return {names.empty() ? "You hold nothing of that." : text, {{"results", std::move(results)}}, failed};
}

McpOutcome McpTools::verify(Api& api, McpArguments& arguments) {
    const auto names = named_or_all(arguments);
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (names.empty()) return holds_nothing();
    const auto answer = api.send("POST", "/v1/verify", json::object{{"leases", as_array(names)}});
    if (!answer) return no_server(answer.error());
    if (!answer->ok()) return refused(*answer);
    std::size_t active = 0;
    for (const json::value& result : array_of(answer->body, "results")) {
        const std::string state = text_of(result, "state");
        active += state == "ACTIVE" ? 1 : 0;
        if (state != "ACTIVE")
            leases_.lose(text_of(result, "id"),
                         {state == "EXPIRED" ? "lease_expired" : "", "the server says it is " + state});
    }
    return {std::to_string(active) + " of " + std::to_string(names.size()) + " active.",
            {{"results", array_of(answer->body, "results")}},
            false};
}

McpOutcome McpTools::list(Api& api, McpArguments& arguments) const {
    const std::string path = arguments.text("path");
    std::string prefix = arguments.text("prefix");
    const std::string holder = arguments.text("holder");
    const auto most = static_cast<std::size_t>(arguments.number("limit", 1, max_mcp_list).value_or(list_default));
    if (!path.empty() && !prefix.empty()) arguments.complain("give either a path or a prefix");
    std::vector<std::string> asked;
    if (!path.empty()) {
        const auto resolved = named(path == "/" ? "." : path);
        if (!resolved) arguments.complain(resolved.error().message);
        if (resolved) asked = resolved->names;
        prefix = "FILE:/";  // a tree above holds it too
    }
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    const std::string target = "/v1/leases?limit=1000&namespace=" + percent_encode(agent_.name_space()) +
                               (prefix.empty() ? "" : "&prefix=" + percent_encode(prefix)) +
                               (holder.empty() ? "" : "&holder=" + percent_encode(holder));
    json::array leases;
    std::string next;
    bool more = true;
    for (int page = 0; page < max_pages && more && leases.size() <= most; ++page) {
        const auto answer = api.get(target + (next.empty() ? "" : "&after=" + percent_encode(next)));
        if (!answer) return no_server(answer.error());
        if (!answer->ok()) return refused(*answer);
        for (const json::value& lease : array_of(answer->body, "leases"))
            if (asked.empty() || concerns_any(text_of(lease, "resource"), asked)) leases.push_back(brief(lease));
        next = text_of(answer->body, "next");
        more = !next.empty();
    }
    more = more || leases.size() > most;
    if (leases.size() > most) leases.resize(most);
    return {std::to_string(leases.size()) + " active" + (more ? ", and there are more." : "."),
            {{"leases", std::move(leases)}, {"more", more}},
            false};
}

std::vector<std::string> McpTools::names_of_session(HttpConnection& connection, HolderInstant until) {
    std::set<std::string> names;
    for (const McpLeases::Held& lease : leases_.held(holder_clock_now()))
        names.insert(lease.id);
    const std::string target = "/v1/leases?limit=1000&holder=" + percent_encode(agent_.holder());
    const auto response = connection.send({"GET", target}, until - holder_clock_now());
    boost::system::error_code malformed;
    const json::value body = response ? json::parse(response->body, malformed) : json::value{};
    for (const json::value& lease : array_of(body, "leases"))
        if (text_of(lease, "session") == agent_.session()) names.insert(text_of(lease, "id"));
    return {names.begin(), names.end()};
}

void McpTools::release_all(Duration within) {
    if (!claimed_) return;
    const HolderInstant until = holder_clock_now() + within;
    HttpConnection connection{config_.servers};
    for (const std::string& id : names_of_session(connection, until)) {
        const Duration left = until - holder_clock_now();
        if (left <= Duration::zero()) return;
        const auto told = connection.send({"DELETE", lease_target(id) + "?" + agent_.query(id)}, left);
        if (!told) return;
    }
}

}  // namespace holdfast
