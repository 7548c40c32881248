#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

namespace json = boost::json;

Table::Row agent_row(const json::value& agent) {
    const bool restarting = flag_of(agent, "restarting");
    return {{text_of(agent, "id"), Colour::bold},
            {count_of(agent, "priority")},
            {count_of(agent, "epoch")},
            {restarting ? "restarting" : "-", restarting ? Colour::yellow : Colour::none},
            {count_of(agent, "deaths")}};
}

const std::vector<std::string> headings{"AGENT", "PRIORITY", "EPOCH", "STATE", "DEATHS"};

/// The resources that the agent waits for, its place in the queue, and the conflicts.
std::string describe_wait(const json::value& waiting) {
    std::string text = "waits for ";
    std::string separator;
    for (const json::value& intent : array_of(waiting, "intents")) {
        text += fmt::format("{}{} ({})", separator, text_of(intent, "resource"), text_of(intent, "predicate"));
        separator = ", ";
    }
    text += fmt::format(", place {}, for another {}", count_of(waiting, "queue_position"),
                        format_duration(std::chrono::milliseconds{number_of(waiting, "wait_left_ms")}));
    const std::string conflicts = describe_conflicts(waiting);
    return conflicts.empty() ? text : text + ": " + conflicts;
}

int show_agent(const Screen& screen, const Result<Answer>& answer) {
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const json::value& agent = field_of(answer->body, "agent");
    std::vector<std::string> more = headings;
    more.emplace_back("LEASES");
    Table table{more};
    Table::Row row = agent_row(agent);
    row.push_back({count_of(agent, "leases")});
    table.add(std::move(row));
    screen.show(table);
    for (const json::value& waiting : array_of(agent, "waiting"))
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
    return show_agent(screen, api.get(agent_target(arguments.agent.id)));
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
    json::object body;
    if (arguments.agent.epoch) body["epoch"] = *arguments.agent.epoch;
    const auto answer = api.send("POST", agent_target(arguments.agent.id) + "/restarting", body);
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const auto grace = format_duration(std::chrono::milliseconds{number_of(answer->body, "grace_ms")});
    screen.line(fmt::format("{} restarts: {} lease(s) stay reserved for it for {} past their expiry",
                            printable(arguments.agent.id), count_of(answer->body, "reserved"), grace));
    screen.note(fmt::format("start it again with --epoch {}", number_of(field_of(answer->body, "agent"), "epoch") + 1));
    return exit_ok;
}

int agent_forget_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.remove(agent_target(arguments.agent.id));
    const bool was_there = answer && flag_of(answer->body, "forgotten");
    return show_done(screen, answer, arguments.agent.id + (was_there ? " forgotten" : " was not registered"));
}

}  // namespace holdfast::cli
