#include <boost/json/array.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "cli/mcp_tool_list.h"
#include "cli/mcp_tools.h"
#include "cli/mcp_words.h"
#include "lease/predicate.h"

namespace holdfast {

namespace json = boost::json;

Result<ResolvedPath> McpTools::named(const std::string& path) const {
    if (!config_.root.empty()) return resolve_path(files_, config_.root, path);
    if (names_a_file(path)) return resolve_path(UnknownFiles{}, "/", path);
    return Error{"invalid_argument",
                 "there is no work tree here, so a path has no name; give a resource such as FILE:/" + path +
                     ", or start 'holdfast mcp' with --root"};
}

McpTools::Intents McpTools::read_intents(McpArguments& arguments) const {
    Intents intents;
    for (const json::value& one : arguments.array("intents", mcp_intents_max)) {
        const json::object* fields = one.if_object();
        static const json::object none;
        McpArguments intent{fields == nullptr ? none : *fields};
        read_intent(intent, intents);
        if (!intent.problem().empty()) arguments.complain(intent.problem());
    }
    if (intents.list.size() > mcp_intents_max)
        arguments.complain("these are names of more than " + std::to_string(mcp_intents_max) +
                           " resources; claim fewer at once");
    return intents;
}

void McpTools::read_intent(McpArguments& intent, Intents& intents) const {
    const std::string path = intent.text("path");
    const std::string resource = intent.text("resource");
    std::string predicate = intent.text("predicate");
    if (predicate.empty()) predicate = "MUTATES";
    if (!core::parse_predicate(predicate)) intent.complain("there is no predicate '" + predicate + "'");
    if (path.empty() == resource.empty()) intent.complain("each intent has either a path or a resource");
    ResolvedPath resolved{{resource}, ""};
    if (!path.empty() || names_a_file(resource)) {
        auto found = named(path.empty() ? resource : path);
        if (!found) return intent.complain(found.error().message);
        resolved = std::move(*found);
    }
    if (!resolved.note.empty()) intents.notes.emplace_back(resolved.note);
    for (const std::string& name : resolved.names)
        intents.list.push_back({{"resource", name}, {"predicate", predicate}});
}

McpOutcome McpTools::claim(Api& api, McpArguments& arguments) {
    auto [intents, notes] = read_intents(arguments);
    if (intents.empty()) arguments.complain("'intents' must be a list of 1 to 256");
    const std::string reason = arguments.text("reason");
    const auto ttl = arguments.milliseconds("ttl_ms", mcp_ttl_max);
    const auto wait = arguments.milliseconds("wait_ms", mcp_wait_max);
    if (!arguments.problem().empty()) return wrong_arguments(arguments.problem());
    if (leases_.size(holder_clock_now()) + intents.size() > mcp_leases_max)
        return wrong_arguments("a session holds at most 1000 leases; release some first");
    claimed_ = true;
    const auto enrolled = agent_.enroll(api);
    if (!enrolled) return no_server(enrolled.error());
    if (!enrolled->ok()) return refused(*enrolled);
    json::object body = agent_.signature();
    body["session"] = agent_.session();
    body["namespace"] = agent_.name_space();
    body["intents"] = std::move(intents);
    body["idempotency_key"] = random_hex(16);
    if (!reason.empty()) body["reason"] = reason;
    if (ttl) body["ttl_ms"] = ttl->count();
    if (wait) body["wait_ms"] = wait->count();
    const HolderInstant sent_at = holder_clock_now();
    const auto answer = api.send_and_wait("/v1/leases", body, wait.value_or(0ms));
    if (!answer) return no_server(answer.error());
    if (!answer->ok()) return refused(*answer);
    return take_over(api, {array_of(answer->body, "leases"), sent_at}, std::move(notes));
}

McpOutcome McpTools::take_over(Api& api, Granted granted, json::array notes) {
    bool late = false;
    for (const json::value& lease : granted.leases)
        late = late || McpLeases::needs_renewal(lease, granted.sent_at, holder_clock_now());
    bool kept = !late || confirm(api, granted);
    for (const json::value& lease : granted.leases)
        kept = kept && leases_.keep(lease, granted.sent_at, holder_clock_now());
    if (!kept) {
        for (const json::value& lease : granted.leases) {
            leases_.forget(text_of(lease, "id"));
            (void)api.remove(lease_target(text_of(lease, "id")) + "?" + agent_.query());
        }
        return no_server({"unreachable", "the claim was granted, but too late to be of use"});
    }
    on_new_lease_();
    json::array leases;
    std::string names;
    for (const json::value& lease : granted.leases) {
        leases.push_back(brief(lease));
        names += (names.empty() ? "" : ", ") + text_of(lease, "id");
    }
    std::string text = "Granted: " + names + ". Renewed in the background until you release it.";
    for (const json::value& note : notes)
        text += "\nNote: " + std::string(note.get_string());
    return {
        std::move(text), {{"verdict", "GRANTED"}, {"leases", std::move(leases)}, {"notes", std::move(notes)}}, false};
}

/// A grant that waited for its turn has used up much of its time by the holder's count: it is renewed first (T3).
bool McpTools::confirm(Api& api, Granted& granted) const {
    json::object body = agent_.signature();
    json::array names;
    for (const json::value& lease : granted.leases)
        names.push_back(field_of(lease, "id"));
    body["leases"] = std::move(names);
    const HolderInstant sent_at = holder_clock_now();
    const auto answer = api.send("POST", "/v1/heartbeat", body);
    if (!answer || !answer->ok()) return false;
    json::array renewed;
    for (const json::value& result : array_of(answer->body, "results"))
        if (text_of(result, "result") == "RENEWED") renewed.push_back(field_of(result, "lease"));
    if (renewed.size() != granted.leases.size()) return false;
    granted = {std::move(renewed), sent_at};
    return true;
}

}  // namespace holdfast
