#include "cli/mcp/mcp_words.h"

#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"

namespace holdfast::cli::mcp {
namespace {

JsonValue text(std::string_view description) {
    return JsonValue::object({{"type", "string"}, {"description", description}});
}

JsonValue number(std::string_view description, std::int64_t least, std::int64_t most) {
    return JsonValue::object(
        {{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", description}});
}

JsonValue list_of(JsonValue items, std::size_t most, std::string_view description) {
    return JsonValue::object({{"type", "array"},
                              {"items", std::move(items)},
                              {"minItems", 1},
                              {"maxItems", most},
                              {"description", description}});
}

JsonValue lease_names(std::string_view description) {
    return list_of(JsonValue::object({{"type", "string"}}), max_mcp_leases, description);
}

JsonValue schema(std::initializer_list<JsonValue::Member> properties, JsonValue::List required = {}) {
    auto schema = JsonValue::object(
        {{"type", "object"}, {"properties", JsonValue::object(properties)}, {"additionalProperties", false}});
    if (!required.empty()) schema.set("required", std::move(required));
    return schema;
}

JsonValue intent() {
    const auto predicate = JsonValue::object(
        {{"type", "string"},
         {"enum", JsonValue::List{"MUTATES", "CONSUMES", "DEPENDS_ON", "PROVIDES", "DELETES", "RENAMES"}},
         {"description",
          "What you will do with it. MUTATES (the default), DELETES and RENAMES exclude everybody else. CONSUMES and "
          "DEPENDS_ON share with other readers. PROVIDES makes something that readers may already rely on."}});
    return schema(
        {{"path", text("A file, such as src/main.c, from the root of the work tree or absolute. A directory, such as "
                       "src/ or src/**, means everything below it; a pattern means the smallest tree that contains "
                       "it. The notes of the answer say what was claimed.")},
         {"resource", text("Anything else, as KIND:name, such as SYMBOL:parse_config, API_ENDPOINT:/v1/users, "
                           "DATABASE_TABLE:users or CONFIG_KEY:timeout. Give either path or resource.")},
         {"predicate", predicate}});
}

struct Hints {
    bool read_only = false;
    bool destructive = false;
    bool idempotent = true;
};

JsonValue tool(std::string_view name, std::string_view title, std::string_view description, JsonValue input,
               const Hints& hints) {
    return JsonValue::object({{"name", name},
                              {"title", title},
                              {"description", description},
                              {"inputSchema", std::move(input)},
                              {"annotations", JsonValue::object({{"title", title},
                                                                 {"readOnlyHint", hints.read_only},
                                                                 {"destructiveHint", hints.destructive},
                                                                 {"idempotentHint", hints.idempotent},
                                                                 {"openWorldHint", false}})}});
}

JsonValue claim_tool() {
    return tool(
        "claim_intents", "Claim before you change",
        "Claim the right to change, read or delete files and other resources before you do it, so that no other "
        "agent works on them at the same time. All are granted together or none is. What you hold already is kept, so "
        "claiming it again does no harm. A claim is renewed in the background until you release it. If somebody else "
        "holds one of them, the answer says who, why and for how long: work on something else, or ask again with "
        "wait_ms.",
        schema({{"intents", list_of(intent(), max_mcp_intents, "All are granted or none is.")},
                {"reason", text("What you are doing, in a few words; shown to those who are refused because of it.")},
                {"ttl_ms", number("How long the claim lasts if this session dies; default: the server's.", 1,
                                  max_mcp_ttl.count())},
                {"wait_ms",
                 number("How long to wait for your turn; 0, the default, answers at once.", 0, max_mcp_wait.count())}},
               {"intents"}),
        {});
}

std::string in(std::chrono::milliseconds time) {
    return time > 0ms ? " in " + format_duration(time) : "";
}

/// Advice to the model after a refusal.
std::string advice(const std::string& code, std::chrono::milliseconds retry_in) {
    const auto known = code_in(code);
    if (known == Code::die)
        return fmt::format(
            "An older agent comes first. Commit or undo your changes, release everything with "
            "release_intents {{\"all\": true}}, and claim again{}.",
            in(retry_in));
    if (known == Code::busy || known == Code::wait_timeout)
        return "Nothing was claimed. Work on something else, or claim again with wait_ms.";
    if (known == Code::stale_epoch) return "A newer process of this agent has taken over; stop working.";
    if (retry_in > 0ms) return fmt::format("Try again{}.", in(retry_in));
    return "The same call will be refused again; change it, or tell the user.";
}

McpOutcome no_server(const Error& error) {
    if (error.code == Code::cancelled) return {"The call was cancelled.", error_object(error), true};
    const std::string message = error.code == Code::unreachable ? describe_unreachable(error.message) : error.message;
    return {fmt::format("No answer from the Holdfast server: {}. Do not change what you have not claimed; tell the "
                        "user, or try again later.",
                        message),
            error_object({error.code, message}), true};
}

JsonValue to_json(const Conflict& conflict) {
    auto json = JsonValue::object(
        {{"resource", conflict.resource}, {"predicate", conflict.predicate}, {"holder", conflict.holder}});
    if (conflict.token != 0) json.set("token", conflict.token);
    if (!conflict.reason.empty()) json.set("reason", conflict.reason);
    json.set("expires_in_ms", conflict.expires_in.count()).set("waiting", conflict.waiting);
    json.set("reserved", conflict.reserved);
    return json;
}

/// A server's refusal, as opposed to a failure to get an answer.
bool is_refusal(const Failure& failure) {
    const auto code = code_in(failure.code);
    return code != Code::unreachable && code != Code::bad_answer && code != Code::cancelled;
}

McpOutcome refused(const Failure& failure) {
    const std::string conflicts = describe(failure.conflicts);
    auto content = error_object({ErrorCode::named(failure.code), failure.message});
    JsonValue::List list;
    for (const Conflict& conflict : failure.conflicts)
        list.push_back(to_json(conflict));
    if (!list.empty()) content.set("conflicts", std::move(list));
    if (failure.queue_position > 0) content.set("queue_position", failure.queue_position);
    if (failure.retry_in) content.set("retry_in_ms", failure.retry_in->count());
    return {fmt::format("Refused: {}. {}", conflicts.empty() ? failure.message : conflicts,
                        advice(failure.code, failure.retry_in.value_or(0ms))),
            std::move(content), true};
}

/// As the server's answer to an acquire has it.
std::string_view verdict_of(const Failure& failure) {
    const auto code = code_in(failure.code);
    if (code == Code::die) return "DIE";
    return code == Code::busy || code == Code::wait_timeout ? "WAIT" : "REFUSED";
}

}  // namespace

JsonValue::List mcp_tool_list() {
    return {
        claim_tool(),
        tool("extend_intents", "Extend claims",
             "Renew claims now and see that they are still yours. They are renewed in the background anyway; use this "
             "for another ttl_ms, or to be sure before a long step.",
             schema({{"leases", lease_names("The leases, as claim_intents named them; default: all of yours.")},
                     {"ttl_ms", number("How long from now, without renewal.", 1, max_mcp_ttl.count())}}),
             {}),
        tool("release_intents", "Release claims",
             "Give claims back as soon as you are done, after you committed or undid your changes, so that others can "
             "go on. Releasing a claim that has already ended is no error.",
             schema({{"leases", lease_names("The leases, as claim_intents named them.")},
                     {"paths", lease_names("Or the paths, as you gave them to claim_intents.")},
                     {"all",
                      JsonValue::object({{"type", "boolean"}, {"description", "Everything this session holds."}})}}),
             {.destructive = true}),
        tool("verify_intents", "Verify claims",
             "Ask the server whether leases are still active, and who holds their resources now. Do this after a pause "
             "and before you commit.",
             schema({{"leases", lease_names("The leases to verify; default: all of yours.")}}), {.read_only = true}),
        tool("list_intents", "See who holds what",
             "List the active leases of everybody: resource, predicate, holder, reason and remaining time. Do this "
             "before you plan your work.",
             schema({{"path", text("Only this file, or what is below this directory, of the work tree.")},
                     {"prefix", text("Only resources whose names start with this, such as SYMBOL:.")},
                     {"holder", text("Only leases of this holder.")},
                     {"limit", number("The largest number of leases to list; default: 100.", 1, max_mcp_list)}}),
             {.read_only = true})};
}

std::string mcp_instructions(const std::string& holder, const std::string& root) {
    return fmt::format(
        "Holdfast keeps agents from working on the same thing at once. Before you edit, delete or rename a file, claim "
        "it with claim_intents, all you need in one call; when it is refused, do something else or wait. Release with "
        "release_intents once your changes are committed or undone. Every answer has a list 'lost': if a lease is in "
        "it, stop changing that resource, claim it again, and read what changed before you go on. You are the holder "
        "{}.{}",
        holder, root.empty() ? "" : fmt::format(" Paths are relative to {}.", root));
}

McpOutcome wrong_arguments(const std::string& problem) {
    return {fmt::format("Wrong arguments: {}. Correct them and call again.", problem),
            error_object({Code::invalid_argument, problem}), true};
}

McpOutcome not_done(const Error& error) {
    return not_done(Failure{.code = std::string(error.code.name()), .message = error.message});
}

McpOutcome not_done(const Failure& failure) {
    return is_refusal(failure) ? refused(failure) : no_server({ErrorCode::named(failure.code), failure.message});
}

McpOutcome not_done(const Result<Answer>& answer) {
    return answer ? refused(failure_of(*answer)) : no_server(answer.error());
}

McpOutcome not_granted(const Failure& failure) {
    McpOutcome outcome = not_done(failure);
    if (is_refusal(failure)) outcome.content.set("verdict", verdict_of(failure));
    return outcome;
}

JsonValue brief(const JsonValue& lease) {
    auto brief = JsonValue::object();
    for (const std::string_view field : {"id", "resource", "predicate", "holder", "reason", "token"})
        if (const JsonValue* found = lease.find(field)) brief.set(field, *found);
    brief.set("expires_in_ms", lease["timeline"]["expires_in_ms"].number);
    return brief;
}

JsonValue brief(const Grant& lease, const std::string& holder, Duration left) {
    return JsonValue::object({{"id", lease.id},
                              {"resource", lease.resource},
                              {"predicate", lease.predicate},
                              {"holder", holder},
                              {"token", lease.token},
                              {"expires_in_ms", to_ms(left)}});
}

std::string describe_cut(const client::Timing& timing) {
    if (!timing.cut_from) return "";
    return fmt::format("The policy cut the TTL from {} to {}.", format_duration(*timing.cut_from),
                       format_duration(timing.ttl));
}

void add_notes(McpOutcome& outcome, JsonValue::List notes) {
    for (const JsonValue& note : notes)
        outcome.text += "\nNote: " + note.text;
    outcome.content.set("notes", std::move(notes));
}

void report_lost(McpOutcome& outcome, const std::vector<McpLeases::Lost>& lost) {
    JsonValue::List list;
    std::string names;
    for (const McpLeases::Lost& lease : lost) {
        auto one = JsonValue::object({{"id", lease.id}, {"resource", lease.resource}, {"why", lease.why}});
        if (lease.code != ErrorCode{}) one.set("code", lease.code.name());
        list.push_back(std::move(one));
        names += fmt::format("{}{} ({})", names.empty() ? "" : "; ", lease.resource, lease.why);
    }
    outcome.content.set("lost", std::move(list));
    if (names.empty()) return;
    outcome.text = fmt::format(
        "LOST, no longer yours: {}. Stop changing these; claim them again and read what changed "
        "before you go on.\n{}",
        names, outcome.text);
}

}  // namespace holdfast::cli::mcp
