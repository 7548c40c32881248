#include "cli/mcp/mcp_tools.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/code.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/guard/written_path.h"
#include "cli/mcp/mcp_words.h"
#include "client/keeper.h"
#include "lease/predicate.h"
#include "lease/resource.h"

namespace holdfast::cli::mcp {
namespace {

constexpr std::int64_t list_default = 100;
/// A filter that matches little may need many pages; each is a bounded amount of work for the server.
constexpr int max_pages = 200;
/// The pause before a request is repeated.
constexpr auto request_pause = 500ms;

/// True if the lease is on the requested resource, on something below it, or on a tree that contains it.
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

/// Ranks predicates on one resource: a stronger one makes a weaker one redundant, since it excludes and allows all that
/// the weaker one does.
int strength(std::string_view predicate) {
    switch (lease::parse_predicate(predicate).value_or(lease::Predicate::consumes)) {
        case lease::Predicate::mutates:
            return 4;
        case lease::Predicate::renames:
            return 3;
        case lease::Predicate::deletes:
            return 2;
        case lease::Predicate::provides:
            return 1;
        case lease::Predicate::consumes:
        case lease::Predicate::depends_on:
            return 0;
    }
    return 0;
}

McpOutcome holds_nothing() {
    return {"You hold nothing.", JsonValue::object({{"results", JsonValue::List{}}}), false};
}

}  // namespace

McpTools::McpTools(Config config, McpAgent& agent, McpLeases& leases)
    : config_(std::move(config)), agent_(agent), leases_(leases) {}

bool McpTools::waits(const McpCall& call) {
    return call.tool == "claim_intents" && call.arguments["wait_ms"].is(JsonValue::Kind::number) &&
           call.arguments["wait_ms"].text != "0";
}

McpOutcome McpTools::run(const McpCall& call, Cancellation& cancellation) {
    Api api{config_.servers};
    McpOutcome outcome;
    {
        const Cancellation::Covers covers(cancellation, api.connection());
        outcome = do_call(api, call);
    }
    // A loss counts as reported only if the call was not cancelled.
    if (!cancellation.cancelled()) report_lost(outcome, leases_.take_lost());
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
        for (const McpLeases::Held& lease : leases_.held())
            names.push_back(lease.id);
    return names;
}

McpTools::Reply McpTools::renew(Api& api, const std::vector<std::string>& ids,
                                std::optional<std::chrono::milliseconds> ttl) const {
    client::NamedLeases leases = agent_.named(ids);
    leases.ttl = ttl;
    const HolderInstant sent_at = holder_clock_now();
    return {api.send(client::renew_request(leases)), sent_at};
}

McpOutcome McpTools::extend(Api& api, McpArguments& arguments) {
    const auto names = named_or_all(arguments);
    const auto ttl = arguments.milliseconds("ttl_ms", max_mcp_ttl);
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (names.empty()) return holds_nothing();
    const auto [answer, sent_at] = renew(api, names, ttl);
    if (!answer) return no_server(answer.error());
    if (!answer->ok()) return refused(*answer);
    JsonValue::List results;
    std::string cut;
    std::size_t renewed = 0;
    for (const JsonValue& result : answer->body["results"].items) {
        const JsonValue& lease = result["lease"];
        const std::string id = result["id"].text;
        const bool kept = result["result"].text == "RENEWED" && leases_.keep(lease, {sent_at});
        const JsonValue& error = result["error"];
        const std::string code = error["code"].text;
        if (client::means_lost(code)) leases_.lose(id, {code, error["message"].text});
        if (cut.empty()) cut = describe_cut(result);
        renewed += kept ? 1 : 0;
        JsonValue one = kept ? brief(lease) : JsonValue::object({{"id", id}, {"error", error}});
        one.set("result", kept ? "RENEWED" : "REJECTED");
        results.push_back(std::move(one));
    }
    McpOutcome outcome{fmt::format("{} of {} renewed.", renewed, names.size()),
                       JsonValue::object({{"results", std::move(results)}}), renewed != names.size()};
    add_notes(outcome, cut.empty() ? JsonValue::List{} : JsonValue::List{cut});
    return outcome;
}

std::vector<std::string> McpTools::held_by_path(const std::string& path) const {
    // A path that was claimed as a file may be a directory by now, or the other way round. Resource names are accepted,
    // too.
    std::set<std::string> names{path};
    if (const auto resolved = named(path)) {
        for (const std::string& name : resolved->names) {
            names.insert(name);
            names.insert(name.ends_with("/**") ? name.substr(0, name.size() - 3) : name + "/**");
        }
    }
    std::vector<std::string> ids;
    for (const McpLeases::Held& lease : leases_.held())
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
    JsonValue::List results;
    for (const std::string& path : paths) {
        const auto held = held_by_path(path);
        names.insert(names.end(), held.begin(), held.end());
        if (held.empty()) results.push_back(JsonValue::object({{"path", path}, {"state", "NOT_HELD"}}));
    }
    if (all) names = named_or_all(arguments);
    bool failed = false;
    for (const std::string& id : std::set<std::string>(names.begin(), names.end())) {
        leases_.forget(id);  // even if the release does not reach the server: the lease then expires
        const auto answer = api.send(agent_.release_request(id));
        if (!answer)
            return no_server({answer.error().code,
                              answer.error().message + "; claims that could not be released expire by themselves"});
        failed = failed || !answer->ok();
        const char* const field = answer->ok() ? "state" : "error";
        results.push_back(JsonValue::object({{"id", id}, {field, answer->body[field]}}));
    }
    const std::string text = failed ? "Some claims could not be released; see the errors." : "Released.";
    return {names.empty() ? "You hold none of these." : text, JsonValue::object({{"results", std::move(results)}}),
            failed};
}

McpOutcome McpTools::verify(Api& api, McpArguments& arguments) {
    const auto names = named_or_all(arguments);
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (names.empty()) return holds_nothing();
    const auto answer = api.send(client::verify_request(names));
    if (!answer) return no_server(answer.error());
    if (!answer->ok()) return refused(*answer);
    std::size_t active = 0;
    for (const JsonValue& result : answer->body["results"].items) {
        const std::string state = result["state"].text;
        active += state == "ACTIVE" ? 1 : 0;
        if (state != "ACTIVE")
            leases_.lose(result["id"].text,
                         {state == "EXPIRED" ? "lease_expired" : "", "the server says it is " + state});
    }
    return {fmt::format("{} of {} active.", active, names.size()),
            JsonValue::object({{"results", answer->body["results"].items}}), false};
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
        prefix = "FILE:/";  // a lease on a tree above covers it, too
    }
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    const std::string target = with_query(
        "/v1/leases", {{"limit", "1000"}, {"namespace", agent_.name_space()}, {"prefix", prefix}, {"holder", holder}});
    JsonValue::List leases;
    std::string next;
    bool more = true;
    for (int page = 0; page < max_pages && more && leases.size() <= most; ++page) {
        const auto answer = api.get(target + (next.empty() ? "" : "&after=" + percent_encode(next)));
        if (!answer) return no_server(answer.error());
        if (!answer->ok()) return refused(*answer);
        for (const JsonValue& lease : answer->body["leases"].items)
            if (asked.empty() || concerns_any(lease["resource"].text, asked)) leases.push_back(brief(lease));
        next = answer->body["next"].text;
        more = !next.empty();
    }
    more = more || leases.size() > most;
    if (leases.size() > most) leases.resize(most);
    return {fmt::format("{} active{}", leases.size(), more ? ", and there are more." : "."),
            JsonValue::object({{"leases", std::move(leases)}, {"more", more}}), false};
}

std::vector<std::string> McpTools::names_of_session(client::HttpConnection& connection, HolderInstant until) {
    std::set<std::string> names;
    for (const McpLeases::Held& lease : leases_.held())
        names.insert(lease.id);
    const std::string target = with_query("/v1/leases", {{"limit", "1000"}, {"holder", agent_.holder()}});
    const auto response = connection.send({"GET", target}, until - holder_clock_now());
    const auto body = response ? read_json(response->body, answer_limits) : Result<JsonValue>(response.error());
    if (!body) return {names.begin(), names.end()};
    for (const JsonValue& lease : (*body)["leases"].items)
        if (lease["session"].text == agent_.session()) names.insert(lease["id"].text);
    return {names.begin(), names.end()};
}

void McpTools::release_all(Duration within) {
    if (!claimed_) return;
    const HolderInstant until = holder_clock_now() + within;
    client::HttpConnection connection{config_.servers};
    for (const std::string& id : names_of_session(connection, until)) {
        const Duration left = until - holder_clock_now();
        if (left <= Duration::zero()) return;
        const auto released = connection.send(agent_.release_request(id), left);
        if (!released) return;
    }
}

Result<guard::ResolvedPath> McpTools::named(const std::string& path) const {
    if (!config_.root.empty()) return guard::resolve_path(files_, config_.root, path);
    if (guard::names_a_file(path)) return guard::resolve_path(guard::UnknownFiles{}, "/", path);
    return Error{
        "invalid_argument",
        fmt::format("there is no work tree, so a path cannot be resolved; give a resource such as FILE:/{}, or "
                    "start 'holdfast mcp' with --root",
                    path)};
}

McpTools::Intents McpTools::read_intents(McpArguments& arguments) const {
    Intents intents;
    for (const JsonValue& one : arguments.array("intents", max_mcp_intents)) {
        McpArguments intent{one};
        read_intent(intent, intents);
        if (!intent.problem().empty()) arguments.complain(intent.problem());
    }
    if (intents.list.size() > max_mcp_intents)
        arguments.complain(
            fmt::format("the intents name more than {} resources; claim fewer at once", max_mcp_intents));
    return intents;
}

void McpTools::read_intent(McpArguments& intent, Intents& intents) const {
    const std::string path = intent.text("path");
    const std::string resource = intent.text("resource");
    std::string predicate = intent.text("predicate");
    if (predicate.empty()) predicate = "MUTATES";
    if (!lease::parse_predicate(predicate)) intent.complain(fmt::format("there is no predicate '{}'", predicate));
    if (path.empty() == resource.empty()) intent.complain("each intent must have either a path or a resource");
    if (guard::looks_like_a_path(files_, config_.root, resource))
        return intent.complain(fmt::format(
            "the resource '{}' looks like a path; give it as path, or as KIND:name if it is not a file", resource));
    guard::ResolvedPath resolved{{resource}, ""};
    if (!path.empty() || guard::names_a_file(resource)) {
        auto found = named(path.empty() ? resource : path);
        if (!found) return intent.complain(found.error().message);
        resolved = std::move(*found);
    }
    if (!resolved.note.empty()) intents.notes.emplace_back(resolved.note);
    for (const std::string& name : resolved.names) {
        const auto normal = lease::normalised(name);
        const std::string& known = normal ? *normal : name;  // the server reports what is wrong with it
        intents.list.push_back(JsonValue::object({{"resource", known}, {"predicate", predicate}}));
        if (!path.empty()) intents.paths.emplace(known, path);
    }
}

McpOutcome McpTools::claim(Api& api, McpArguments& arguments) {
    Intents intents = read_intents(arguments);
    if (intents.list.empty())
        arguments.complain(fmt::format("'intents' must be a list of 1 to {} items", max_mcp_intents));
    const Terms terms{arguments.text("reason"), arguments.milliseconds("ttl_ms", max_mcp_ttl),
                      arguments.milliseconds("wait_ms", max_mcp_wait)};
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (leases_.size() + intents.list.size() > max_mcp_leases)
        return wrong_arguments(fmt::format("a session holds at most {} leases; release some first", max_mcp_leases));
    claimed_ = true;
    const auto enrolled = agent_.enroll(api);
    if (!enrolled) return no_server(enrolled.error());
    if (!enrolled->ok()) return refused(*enrolled);
    std::vector<std::string> resources;
    for (const JsonValue& intent : intents.list) {
        const std::string resource = intent["resource"].text;
        if (std::find(resources.begin(), resources.end(), resource) == resources.end()) resources.push_back(resource);
    }
    if (auto failed = renew_held(api, intents, terms)) return *failed;
    if (auto failed = acquire(api, intents, terms)) return *failed;
    return granted(api, std::move(intents), resources);
}

std::optional<McpOutcome> McpTools::renew_held(Api& api, Intents& intents, const Terms& terms) {
    std::map<std::string, McpLeases::Held> held;
    for (McpLeases::Held& lease : leases_.held()) {
        auto& strongest = held[lease.resource];
        if (strongest.id.empty() || strength(lease.predicate) > strength(strongest.predicate))
            strongest = std::move(lease);
    }
    const auto lease_for = [&](const JsonValue& intent) -> const McpLeases::Held* {
        const auto found = held.find(intent["resource"].text);
        const bool enough =
            found != held.end() && strength(found->second.predicate) >= strength(intent["predicate"].text);
        return enough ? &found->second : nullptr;
    };
    std::set<std::string> ids;
    for (const JsonValue& intent : intents.list)
        if (const auto* lease = lease_for(intent)) ids.insert(lease->id);
    if (ids.empty()) return std::nullopt;
    const auto [answer, sent_at] = renew(api, {ids.begin(), ids.end()}, terms.ttl);
    if (!answer) return no_server(answer.error());
    if (!answer->ok()) return refused(*answer);
    std::string cut;
    for (const JsonValue& result : answer->body["results"].items) {
        const JsonValue& error = result["error"];
        const std::string code = error["code"].text;
        if (client::means_lost(code)) leases_.lose(result["id"].text, {code, error["message"].text});
        if (result["result"].text == "RENEWED") leases_.keep(result["lease"], {sent_at});
        if (cut.empty()) cut = describe_cut(result);
    }
    if (!cut.empty()) intents.notes.emplace_back(cut);
    JsonValue::List rest;
    for (const JsonValue& intent : intents.list) {
        const auto* lease = lease_for(intent);
        if (lease == nullptr || !leases_.holds(lease->id)) rest.push_back(intent);
    }
    intents.list = std::move(rest);
    return std::nullopt;
}

std::optional<McpOutcome> McpTools::acquire(Api& api, Intents& intents, const Terms& terms) {
    if (intents.list.empty()) return std::nullopt;
    client::AcquireAsk ask{.holder = agent_.holder(),
                           .session = agent_.session(),
                           .name_space = agent_.name_space(),
                           .ttl = terms.ttl.value_or(0ms),
                           .reason = terms.reason,
                           .idempotency_key = random_hex(16),
                           .epoch = agent_.epoch()};
    for (const JsonValue& intent : intents.list)
        ask.intents.push_back({intent["resource"].text, intent["predicate"].text});
    const auto [answer, sent_at] = ask_for_leases(api, std::move(ask), terms);
    if (!answer) return no_server(answer.error());
    if (!answer->ok()) return refused(*answer);
    if (const std::string cut = describe_cut(answer->body); !cut.empty()) intents.notes.emplace_back(cut);
    return take_over(api, {answer->body["leases"].items, McpLeases::asked(answer->body, sent_at)});
}

McpTools::Reply McpTools::ask_for_leases(Api& api, client::AcquireAsk ask, const Terms& terms) {
    const HolderInstant until = holder_clock_now() + terms.wait.value_or(0ms);
    for (;;) {
        const HolderInstant sent_at = holder_clock_now();
        ask.wait = std::max<Duration>(until - sent_at, 0ms);
        auto answer = api.acquire(ask);
        const bool silent = !answer && answer.error().code == "unreachable" && api.has_several_servers();
        const bool pending = answer && code_in(error_code_of(*answer)) == Code::idempotency_in_progress;
        if ((!silent && !pending) || holder_clock_now() + request_pause >= until) return {std::move(answer), sent_at};
        std::this_thread::sleep_for(request_pause);  // then retry with the same key: the request keeps its place (G6)
    }
}

std::optional<McpOutcome> McpTools::take_over(Api& api, Granted granted) {
    bool late = false;
    for (const JsonValue& lease : granted.leases)
        late = late || McpLeases::needs_renewal(lease, granted.asked);
    bool kept = !late || confirm(api, granted);
    for (const JsonValue& lease : granted.leases)
        kept = kept && leases_.keep(lease, granted.asked);
    if (kept) return std::nullopt;
    for (const JsonValue& lease : granted.leases) {
        leases_.forget(lease["id"].text);
        (void)api.send(agent_.release_request(lease["id"].text));
    }
    return no_server({"unreachable", "the claim was granted, but the answer came too late to use it"});
}

McpLeases::Held McpTools::keep_one(Api& api, std::vector<McpLeases::Held> leases) {
    // The order must not depend on the caller: two concurrent calls must not each release the lease that the other
    // keeps.
    std::sort(leases.begin(), leases.end(), [](const auto& a, const auto& b) {
        return std::pair(strength(a.predicate), a.token) > std::pair(strength(b.predicate), b.token);
    });
    for (std::size_t i = 1; i < leases.size(); ++i) {
        for (const std::string& path : leases[i].paths)
            leases_.remember_path(leases[0].id, path);
        leases_.forget(leases[i].id);
        (void)api.send(agent_.release_request(leases[i].id));
    }
    return leases[0];
}

McpOutcome McpTools::granted(Api& api, Intents intents, const std::vector<std::string>& resources) {
    std::map<std::string, std::vector<McpLeases::Held>> held;
    for (McpLeases::Held& lease : leases_.held())
        held[lease.resource].push_back(std::move(lease));
    JsonValue::List leases;
    std::string names;
    for (const std::string& resource : resources) {
        const auto found = held.find(resource);
        if (found == held.end()) continue;  // lost meanwhile, which is reported separately
        const McpLeases::Held lease = keep_one(api, std::move(found->second));
        const auto [first, last] = intents.paths.equal_range(resource);
        for (auto path = first; path != last; ++path)
            leases_.remember_path(lease.id, path->second);
        JsonValue one = brief(lease);
        one.set("holder", agent_.holder());
        leases.push_back(std::move(one));
        names += (names.empty() ? "" : ", ") + lease.id;
    }
    McpOutcome outcome{fmt::format("Granted: {}. Renewed in the background until you release it.", names),
                       JsonValue::object({{"verdict", "GRANTED"}, {"leases", std::move(leases)}}), false};
    add_notes(outcome, std::move(intents.notes));
    return outcome;
}

/// After a slow answer much of the TTL is used up by the holder's clock: the lease is renewed first (T3).
bool McpTools::confirm(Api& api, Granted& granted) const {
    std::vector<std::string> ids;
    for (const JsonValue& lease : granted.leases)
        ids.push_back(lease["id"].text);
    const auto [answer, sent_at] = renew(api, ids, std::nullopt);
    if (!answer || !answer->ok()) return false;
    JsonValue::List renewed;
    for (const JsonValue& result : answer->body["results"].items)
        if (result["result"].text == "RENEWED") renewed.push_back(result["lease"]);
    if (renewed.size() != granted.leases.size()) return false;
    granted = {std::move(renewed), {sent_at}};
    return true;
}

}  // namespace holdfast::cli::mcp
