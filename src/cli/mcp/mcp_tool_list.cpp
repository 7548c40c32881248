#include "cli/mcp/mcp_tool_list.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace holdfast {
namespace {

namespace json = boost::json;

json::object text(std::string_view description) {
    return {{"type", "string"}, {"description", description}};
}

json::object number(std::string_view description, std::int64_t least, std::int64_t most) {
    return {{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", description}};
}

json::object lease_names(std::string_view description) {
    return {{"type", "array"},
            {"items", {{"type", "string"}}},
            {"minItems", 1},
            {"maxItems", max_mcp_leases},
            {"description", description}};
}

json::object schema(json::object properties, json::array required = {}) {
    json::object schema{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
    if (!required.empty()) schema["required"] = std::move(required);
    return schema;
}

json::object intent() {
    const json::value predicate{
        {"type", "string"},
        {"enum", json::array{"MUTATES", "CONSUMES", "DEPENDS_ON", "PROVIDES", "DELETES", "RENAMES"}},
        {"description",
         "What you will do with it. MUTATES (the default) excludes everybody else; DELETES and RENAMES too. CONSUMES "
         "and "
         "DEPENDS_ON share with other readers. PROVIDES makes something that readers may already rely on."}};
    json::object one =
        schema({{"path", text("A file, from the root of the work tree or absolute, such as src/main.c. A directory, "
                              "such as src/ or src/**, is everything below it; a pattern is claimed as the smallest "
                              "tree that contains it. The notes of the answer say so.")},
                {"resource", text("Anything else, as KIND:name, such as SYMBOL:parse_config, API_ENDPOINT:/v1/users, "
                                  "DATABASE_TABLE:users or CONFIG_KEY:timeout. Give either path or resource.")},
                {"predicate", predicate}});
    return one;
}

struct Hints {
    bool read_only = false;
    bool destructive = false;
    bool idempotent = true;
};

json::value tool(std::string_view name, std::string_view title, std::string_view description, json::object input,
                 const Hints& hints) {
    return {{"name", name},
            {"title", title},
            {"description", description},
            {"inputSchema", std::move(input)},
            {"annotations",
             {{"title", title},
              {"readOnlyHint", hints.read_only},
              {"destructiveHint", hints.destructive},
              {"idempotentHint", hints.idempotent},
              {"openWorldHint", false}}}};
}

json::value claim_tool() {
    const json::object intents{{"type", "array"},
                               {"items", intent()},
                               {"minItems", 1},
                               {"maxItems", max_mcp_intents},
                               {"description", "All are granted or none is."}};
    return tool(
        "claim_intents", "Claim before you change",
        "Claim the right to change, read or delete files and other resources before you do it, so that no other "
        "agent works on them at the same time. All are granted together or none is. What you hold already is kept, so "
        "claiming it again does no harm. A claim is renewed in the "
        "background until you release it. If somebody else holds one of them, the answer says who, why and for how "
        "long: work on something else, or ask again with wait_ms.",
        schema({{"intents", intents},
                {"reason", text("What you are doing, in a few words; shown to whoever is refused.")},
                {"ttl_ms",
                 number("How long it lasts if this session dies; the server has a default.", 1, max_mcp_ttl.count())},
                {"wait_ms",
                 number("How long to wait for your turn; 0, the default, answers at once.", 0, max_mcp_wait.count())}},
               {"intents"}),
        {});
}

}  // namespace

json::array mcp_tool_list() {
    return {
        claim_tool(),
        tool("extend_intents", "Extend claims",
             "Renew claims now and see that they are still yours. They are renewed in the background anyway; this is "
             "for "
             "another ttl_ms, or to be sure before a long step.",
             schema({{"leases", lease_names("The leases, as claim_intents named them. All of yours if left out.")},
                     {"ttl_ms", number("How long from now, without renewal.", 1, max_mcp_ttl.count())}}),
             {}),
        tool("release_intents", "Release claims",
             "Give claims back as soon as you are done, after you committed or undid your changes, so that others can "
             "go "
             "on. Releasing what has ended already is no error.",
             schema({{"leases", lease_names("The leases, as claim_intents named them.")},
                     {"paths", lease_names("Or the paths, as you gave them to claim_intents.")},
                     {"all", {{"type", "boolean"}, {"description", "Everything this session holds."}}}}),
             {.destructive = true}),
        tool("verify_intents", "Verify claims",
             "Ask the server whether leases are still active, and who holds their resources now. Do this after a pause "
             "and "
             "before you commit.",
             schema({{"leases", lease_names("The leases to verify. All of yours if left out.")}}), {.read_only = true}),
        tool("list_intents", "See who holds what",
             "List active leases of everybody: resource, predicate, holder, reason and the time left. Look here before "
             "you "
             "plan your work.",
             schema({{"path", text("Only below this directory, or this file, of the work tree.")},
                     {"prefix", text("Only resources that start like this, such as SYMBOL:.")},
                     {"holder", text("Only of this holder.")},
                     {"limit", number("At most so many; 100 if left out.", 1, max_mcp_list)}}),
             {.read_only = true})};
}

std::string mcp_instructions(const std::string& holder, const std::string& root) {
    std::string text =
        "Holdfast keeps agents from working on the same thing at once. Before you edit, delete or rename a file, claim "
        "it "
        "with claim_intents, all you need in one call; when it is refused, do something else or wait. Release with "
        "release_intents once your changes are committed or undone. Every answer has a list 'lost': if a lease is in "
        "it, "
        "stop changing that resource, claim it again, and look at what changed before you go on. You are the holder " +
        holder + ".";
    if (!root.empty()) text += " Paths are relative to " + root + ".";
    return text;
}

}  // namespace holdfast
