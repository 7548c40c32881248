#include "cli/mcp/mcp_words.h"

#include "base/code.h"
#include "base/text.h"

namespace holdfast {

namespace json = boost::json;

namespace {

json::object error_content(std::string_view code, std::string_view message) {
    return {{"error", {{"code", code}, {"message", message}}}};
}

std::string in(std::int64_t ms) {
    return ms > 0 ? " in " + format_duration(std::chrono::milliseconds{ms}) : "";
}

/// Advice to the model after a refusal.
std::string advice(const std::string& code, std::int64_t retry_in) {
    const auto known = core::code_in(code);
    if (known == core::Code::die)
        return "An older agent comes first. Commit or undo your changes, release everything with release_intents "
               "{\"all\": true}, and claim again" +
               in(retry_in) + ".";
    if (known == core::Code::busy || known == core::Code::wait_timeout)
        return "Nothing was claimed. Work on something else, or claim again with wait_ms.";
    if (known == core::Code::stale_epoch) return "A newer process of this agent has taken over; stop working.";
    if (retry_in > 0) return "Try again" + in(retry_in) + ".";
    return "Asking again as it is will not help; tell the user if you cannot change it.";
}

}  // namespace

McpOutcome wrong_arguments(const std::string& problem) {
    return {"Wrong arguments: " + problem + ". Correct them and call again.",
            error_content("invalid_argument", problem), true};
}

McpOutcome no_server(const Error& error) {
    if (error.code == "cancelled") return {"The call was cancelled.", error_content(error.code, error.message), true};
    const std::string message = error.code == "unreachable" ? describe_unreachable(error.message) : error.message;
    return {"No answer from the Holdfast server: " + message +
                ". Do not change what you have not claimed; tell the user, or try again later.",
            error_content(error.code, message), true};
}

McpOutcome refused(const Answer& answer) {
    const std::string code = error_code_of(answer);
    const std::string conflicts = describe_conflicts(answer);
    const json::value& error = field_of(answer.body, "error");
    std::string why = conflicts.empty() ? text_of(error, "message") : conflicts;
    if (why.empty()) why = "the server refused with HTTP " + std::to_string(answer.status);
    json::object content{{"error", error}};
    for (const std::string_view field : {"verdict", "conflicts", "queue_position", "retry_in_ms"})
        if (const json::value& found = field_of(answer.body, field); !found.is_null()) content[field] = found;
    return {"Refused: " + why + ". " + advice(code, number_of(answer.body, "retry_in_ms")), std::move(content), true};
}

json::object brief(const json::value& lease) {
    json::object brief;
    for (const std::string_view field : {"id", "resource", "predicate", "holder", "reason", "token"})
        if (const json::value& found = field_of(lease, field); !found.is_null()) brief[field] = found;
    brief["expires_in_ms"] = number_of(field_of(lease, "timeline"), "expires_in_ms");
    return brief;
}

json::object brief(const McpLeases::Held& lease) {
    return {{"id", lease.id},
            {"resource", lease.resource},
            {"predicate", lease.predicate},
            {"token", lease.token},
            {"expires_in_ms", to_ms(lease.left)}};
}

std::string describe_cut(const json::value& answer) {
    const json::value& cut = field_of(answer, "ttl_cut");
    if (cut.is_null()) return "";
    const auto duration = [&](std::string_view field) {
        return format_duration(std::chrono::milliseconds{number_of(cut, field)});
    };
    return "The policy cut the TTL from " + duration("requested_ms") + " to " + duration("granted_ms") + ".";
}

void add_notes(McpOutcome& outcome, json::array notes) {
    for (const json::value& note : notes)
        outcome.text += "\nNote: " + std::string(note.get_string());
    outcome.content["notes"] = std::move(notes);
}

void tell_lost(McpOutcome& outcome, const std::vector<McpLeases::Lost>& lost) {
    json::array list;
    std::string names;
    for (const McpLeases::Lost& lease : lost) {
        json::object one{{"id", lease.id}, {"resource", lease.resource}, {"why", lease.why}};
        if (!lease.code.empty()) one["code"] = lease.code;
        list.push_back(std::move(one));
        names += (names.empty() ? "" : "; ") + lease.resource + " (" + lease.why + ")";
    }
    outcome.content["lost"] = std::move(list);
    if (names.empty()) return;
    outcome.text = "LOST, no longer yours: " + names +
                   ". Stop changing these; claim them again and look at what changed before you go on.\n" +
                   outcome.text;
}

}  // namespace holdfast
