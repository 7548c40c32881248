#include <fmt/format.h>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "client/messages.h"

namespace holdfast::cli {
namespace {

Table::Row agent_row(const JsonValue& agent) {
    const bool restarting = agent["restarting"].truth;
    return {{agent["id"].text, Colour::bold},
            {agent["priority"].text},
            {agent["epoch"].text},
            {restarting ? "restarting" : "-", restarting ? Colour::yellow : Colour::none},
            {agent["deaths"].text}};
}

const std::vector<std::string> headings{"AGENT", "PRIORITY", "EPOCH", "STATE", "DEATHS"};

/// The resources that the agent waits for, its place in the queue, and the conflicts.
std::string describe_wait(const JsonValue& waiting) {
    std::string text = "waits for ";
    std::string separator;
    for (const JsonValue& intent : waiting["intents"].items) {
        text += fmt::format("{}{} ({})", separator, intent["resource"].text, intent["predicate"].text);
        separator = ", ";
    }
    text +=
        fmt::format(", place {}, for another {}", waiting["queue_position"].text, duration_of(waiting["wait_left_ms"]));
    const std::string conflicts = describe(client::read_conflicts(waiting));
    return conflicts.empty() ? text : fmt::format("{}: {}", text, conflicts);
}

int show_agent(const Screen& screen, const Result<Answer>& answer) {
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const JsonValue& agent = answer->body["agent"];
    std::vector<std::string> more = headings;
    more.emplace_back("LEASES");
    Table table{more};
    Table::Row row = agent_row(agent);
    row.push_back({agent["leases"].text});
    table.add(std::move(row));
    screen.show(table);
    for (const JsonValue& waiting : agent["waiting"].items)
        screen.line(printable(describe_wait(waiting)));
    return exit_ok;
}

}  // namespace

int agent_register_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    return show_agent(screen, register_agent(api, arguments.agent));
}

int agent_show_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    return show_agent(screen, api.get(client::agent_target(arguments.agent.id)));
}

int agent_list_command(const Arguments& arguments) {
    return show_list(arguments.common, {.target = "/v1/agents?limit=1000",
                                        .items = "agents",
                                        .headings = headings,
                                        .row = agent_row,
                                        .none = "no agent is registered"});
}

int agent_restarting_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer =
        api.send(client::restarting_request({.id = arguments.agent.id, .epoch = arguments.agent.epoch}));
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const auto grace = duration_of(answer->body["grace_ms"]);
    screen.line(fmt::format("{} restarts: {} lease(s) stay reserved for it for {} past their expiry",
                            printable(arguments.agent.id), answer->body["reserved"].text, grace));
    screen.note(fmt::format("start it again with --epoch {}", answer->body["agent"]["epoch"].number + 1));
    return exit_ok;
}

int agent_forget_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.remove(client::agent_target(arguments.agent.id));
    const bool was_there = answer && answer->body["forgotten"].truth;
    return show_done(screen, answer, arguments.agent.id + (was_there ? " forgotten" : " was not registered"));
}

}  // namespace holdfast::cli
