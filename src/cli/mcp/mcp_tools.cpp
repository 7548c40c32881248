#include "cli/mcp/mcp_tools.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "cli/guard/written_path.h"
#include "cli/mcp/mcp_words.h"
#include "client/messages.h"
#include "lease/predicate.h"
#include "lease/resource.h"

namespace holdfast::cli::mcp {
namespace {

constexpr std::int64_t list_default = 100;
/// A filter that matches little may need many pages; each is a bounded amount of work for the server.
constexpr int max_pages = 200;

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

/// What the model did not ask for.
JsonValue::List notes_on(const std::vector<client::RenewReply>& replies) {
    for (const client::RenewReply& reply : replies)
        if (const auto* renewed = std::get_if<client::Renewed>(&reply))
            if (std::string cut = describe_cut(renewed->timing); !cut.empty()) return {std::move(cut)};
    return {};
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

McpOutcome McpTools::run(const McpCall& call, const std::stop_token& stop) {
    Connections to{Api{config_.servers}, leases_.transport(), stop};
    McpOutcome outcome;
    {
        const std::stop_callback on_stop(stop, [&to] {
            to.api.connection().stop();
            to.transport->stop();
        });
        outcome = do_call(to, call);
    }
    // A loss counts as reported only if the call was not cancelled.
    if (!stop.stop_requested()) report_lost(outcome, leases_.take_lost());
    return outcome;
}

McpOutcome McpTools::do_call(Connections& to, const McpCall& call) {
    McpArguments arguments{call.arguments};
    if (call.tool == "claim_intents") return claim(to, arguments);
    if (call.tool == "extend_intents") return extend(to, arguments);
    if (call.tool == "release_intents") return release(to, arguments);
    if (call.tool == "verify_intents") return verify(to.api, arguments);
    return list(to.api, arguments);
}

std::vector<std::string> McpTools::named_or_all(McpArguments& arguments) {
    std::vector<std::string> names = arguments.texts("leases", max_mcp_leases);
    if (names.empty())
        for (const McpLeases::Held& lease : leases_.held())
            names.push_back(lease.grant.id);
    return names;
}

McpOutcome McpTools::extend(Connections& to, McpArguments& arguments) {
    const auto names = named_or_all(arguments);
    const auto ttl = arguments.milliseconds("ttl_ms", max_mcp_ttl);
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (names.empty()) return holds_nothing();
    const auto replies = leases_.renew(*to.transport, names, ttl);
    if (!replies) return not_done(replies.error());
    JsonValue::List results;
    std::size_t renewed = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (const auto* error = std::get_if<Error>(&(*replies)[i])) {
            results.push_back(error_object(*error).set("id", names[i]).set("result", "REJECTED"));
            continue;
        }
        const auto& [timing, grant] = std::get<client::Renewed>((*replies)[i]);
        ++renewed;
        results.push_back(brief(grant, agent_.holder(), timing.timeline.expires_in).set("result", "RENEWED"));
    }
    McpOutcome outcome{fmt::format("{} of {} renewed.", renewed, names.size()),
                       JsonValue::object({{"results", std::move(results)}}), renewed != names.size()};
    add_notes(outcome, notes_on(*replies));
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
        if (names.contains(lease.grant.resource) || lease.paths.contains(path)) ids.push_back(lease.grant.id);
    return ids;
}

McpOutcome McpTools::release(Connections& to, McpArguments& arguments) {
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
        const auto reply = leases_.release(*to.transport, id);
        if (!reply)
            return not_done(Error{reply.error().code,
                                  reply.error().message + "; claims that could not be released expire by themselves"});
        const auto* error = std::get_if<Error>(&*reply);
        failed = failed || error != nullptr;
        results.push_back(error != nullptr
                              ? error_object(*error).set("id", id)
                              : JsonValue::object({{"id", id}, {"state", std::get<client::Released>(*reply).state}}));
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
    if (!answer || !answer->ok()) return not_done(answer);
    std::size_t active = 0;
    for (const JsonValue& result : answer->body["results"].items) {
        const std::string state = result["state"].text;
        active += state == "ACTIVE" ? 1 : 0;
        if (state != "ACTIVE")
            leases_.lose(result["id"].text,
                         {state == "EXPIRED" ? ErrorCode(Code::lease_expired) : ErrorCode{}, "the server says it is " + state});
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
        const auto answer = api.get(next.empty() ? target : fmt::format("{}&after={}", target, percent_encode(next)));
        if (!answer || !answer->ok()) return not_done(answer);
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

std::vector<std::string> McpTools::names_of_session(Api& api, Duration within) {
    std::set<std::string> names;
    for (const McpLeases::Held& lease : leases_.held())
        names.insert(lease.grant.id);
    const auto answer =
        api.get_within(within, with_query("/v1/leases", {{"limit", "1000"}, {"holder", agent_.holder()}}));
    if (!answer) return {names.begin(), names.end()};
    for (const JsonValue& lease : answer->body["leases"].items)
        if (lease["session"].text == agent_.session()) names.insert(lease["id"].text);
    return {names.begin(), names.end()};
}

void McpTools::release_all(Duration within) {
    if (!claimed_) return;
    const HolderInstant until = holder_clock_now() + within;
    Api api{config_.servers};
    const auto transport = leases_.transport();
    for (const std::string& id : names_of_session(api, within)) {
        const Duration left = until - holder_clock_now();
        if (left <= Duration::zero() || !leases_.release(*transport, id, left)) return;
    }
}

Result<guard::ResolvedPath> McpTools::named(const std::string& path) const {
    if (!config_.root.empty()) return guard::resolve_path(files_, config_.root, path);
    if (guard::names_a_file(path)) return guard::resolve_path(guard::UnknownFiles{}, "/", path);
    return Error{
        Code::invalid_argument,
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
        intents.list.push_back({known, predicate});
        if (!path.empty()) intents.paths.emplace(known, path);
    }
}

McpOutcome McpTools::claim(Connections& to, McpArguments& arguments) {
    Intents intents = read_intents(arguments);
    if (intents.list.empty())
        arguments.complain(fmt::format("'intents' must be a list of 1 to {} items", max_mcp_intents));
    const Terms terms{arguments.text("reason"), arguments.milliseconds("ttl_ms", max_mcp_ttl),
                      arguments.milliseconds("wait_ms", max_mcp_wait)};
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (leases_.size() + intents.list.size() > max_mcp_leases)
        return wrong_arguments(fmt::format("a session holds at most {} leases; release some first", max_mcp_leases));
    claimed_ = true;
    const auto enrolled = agent_.enroll(to.api);
    if (!enrolled || !enrolled->ok()) return not_done(enrolled);
    std::vector<std::string> resources;
    for (const Intent& intent : intents.list)
        if (std::find(resources.begin(), resources.end(), intent.resource) == resources.end())
            resources.push_back(intent.resource);
    if (auto failed = renew_held(to, intents, terms)) return *failed;
    if (auto failed = acquire(to, intents, terms)) return *failed;
    return granted(to, std::move(intents), resources);
}

std::optional<McpOutcome> McpTools::renew_held(Connections& to, Intents& intents, const Terms& terms) {
    std::map<std::string, Grant> held;
    for (McpLeases::Held& lease : leases_.held()) {
        Grant& strongest = held[lease.grant.resource];
        if (strongest.id.empty() || strength(lease.grant.predicate) > strength(strongest.predicate))
            strongest = std::move(lease.grant);
    }
    const auto lease_for = [&](const Intent& intent) -> const Grant* {
        const auto found = held.find(intent.resource);
        const bool enough =
            found != held.end() && strength(found->second.predicate) >= strength(intent.predicate.text());
        return enough ? &found->second : nullptr;
    };
    std::set<std::string> ids;
    for (const Intent& intent : intents.list)
        if (const Grant* lease = lease_for(intent)) ids.insert(lease->id);
    if (ids.empty()) return std::nullopt;
    const auto replies = leases_.renew(*to.transport, {ids.begin(), ids.end()}, terms.ttl);
    if (!replies) return not_done(replies.error());
    for (JsonValue& note : notes_on(*replies))
        intents.notes.push_back(std::move(note));
    std::erase_if(intents.list, [&](const Intent& intent) {
        const Grant* lease = lease_for(intent);
        return lease != nullptr && leases_.holds(lease->id);
    });
    return std::nullopt;
}

std::optional<McpOutcome> McpTools::acquire(Connections& to, Intents& intents, const Terms& terms) {
    if (intents.list.empty()) return std::nullopt;
    const auto result = leases_.acquire(
        intents.list,
        {.ttl = terms.ttl.value_or(0ms), .wait = terms.wait.value_or(0ms), .reason = terms.reason, .stop = to.stop});
    if (const auto* failure = std::get_if<Failure>(&result)) return not_granted(*failure);
    if (std::string cut = describe_cut(std::get<client::Timing>(result)); !cut.empty())
        intents.notes.emplace_back(std::move(cut));
    return std::nullopt;
}

McpLeases::Held McpTools::keep_one(Connections& to, std::vector<McpLeases::Held> leases) {
    // The order must not depend on the caller: two concurrent calls must not each release the lease that the other
    // keeps.
    std::sort(leases.begin(), leases.end(), [](const auto& a, const auto& b) {
        return std::pair(strength(a.grant.predicate), a.grant.token) >
               std::pair(strength(b.grant.predicate), b.grant.token);
    });
    for (std::size_t i = 1; i < leases.size(); ++i) {
        for (const std::string& path : leases[i].paths)
            leases_.remember_path(leases[0].grant.id, path);
        (void)leases_.release(*to.transport, leases[i].grant.id);
    }
    return leases[0];
}

McpOutcome McpTools::granted(Connections& to, Intents intents, const std::vector<std::string>& resources) {
    std::map<std::string, std::vector<McpLeases::Held>> held;
    for (McpLeases::Held& lease : leases_.held())
        held[lease.grant.resource].push_back(std::move(lease));
    JsonValue::List leases;
    std::string names;
    for (const std::string& resource : resources) {
        const auto found = held.find(resource);
        if (found == held.end()) continue;  // lost meanwhile, which is reported separately
        const McpLeases::Held lease = keep_one(to, std::move(found->second));
        const auto [first, last] = intents.paths.equal_range(resource);
        for (auto path = first; path != last; ++path)
            leases_.remember_path(lease.grant.id, path->second);
        leases.push_back(brief(lease.grant, agent_.holder(), lease.left));
        names += (names.empty() ? "" : ", ") + lease.grant.id;
    }
    McpOutcome outcome{fmt::format("Granted: {}. Renewed in the background until you release it.", names),
                       JsonValue::object({{"verdict", "GRANTED"}, {"leases", std::move(leases)}}), false};
    add_notes(outcome, std::move(intents.notes));
    return outcome;
}

}  // namespace holdfast::cli::mcp
