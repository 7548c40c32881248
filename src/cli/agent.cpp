#include <boost/json/object.hpp>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

Table::Row agent_row(const json::value& agent) {
    const bool restarting = flag_of(agent, "restarting");
    return {{text_of(agent, "id"), Colour::bold},
            {std::to_string(number_of(agent, "priority"))},
            {std::to_string(number_of(agent, "epoch"))},
            {restarting ? "restarting" : "-", restarting ? Colour::yellow : Colour::none},
            {std::to_string(number_of(agent, "deaths"))}};
}

const std::vector<std::string> headings{"AGENT", "PRIORITY", "EPOCH", "STATE", "DEATHS"};

/// The resources that the agent waits for, its place in the queue, and the conflicts.
std::string describe_wait(const json::value& waiting) {
    std::string text = "waits for ";
    std::string separator;
    for (const json::value& intent : array_of(waiting, "intents")) {
        text += separator + text_of(intent, "resource") + " (" + text_of(intent, "predicate") + ")";
        separator = ", ";
    }
    text += ", place " + std::to_string(number_of(waiting, "queue_position"));
    text += ", for another " + format_duration(std::chrono::milliseconds{number_of(waiting, "wait_left_ms")});
    const std::string conflicts = describe_conflicts({0, waiting});
    return conflicts.empty() ? text : text + ": " + conflicts;
}

int show_agent(const Screen& screen, const Result<Answer>& answer) {
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    const json::value& agent = field_of(answer->body, "agent");
    std::vector<std::string> more = headings;
    more.emplace_back("LEASES");
    Table table{more};
    Table::Row row = agent_row(agent);
    row.push_back({std::to_string(number_of(agent, "leases"))});
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
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all("/v1/agents?limit=1000", "agents");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    Table table{headings};
    for (const json::value& agent : array_of(answer->body, "agents"))
        table.add(agent_row(agent));
    if (screen.json())
        screen.show(answer->body);
    else if (array_of(answer->body, "agents").empty())
        screen.note("no agent is registered");
    else
        screen.show(table);
    return exit_ok;
}

int agent_restarting_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    json::object body;
    if (arguments.agent.epoch) body["epoch"] = *arguments.agent.epoch;
    const auto answer = api.send("POST", agent_target(arguments.agent.id) + "/restarting", body);
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    const auto grace = format_duration(std::chrono::milliseconds{number_of(answer->body, "grace_ms")});
    screen.line(printable(arguments.agent.id) + " restarts: " + std::to_string(number_of(answer->body, "reserved")) +
                " lease(s) stay reserved for it for " + grace + " past their expiry");
    const auto next = number_of(field_of(answer->body, "agent"), "epoch") + 1;
    screen.note("it comes back with --epoch " + std::to_string(next));
    return exit_ok;
}

int agent_forget_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.remove(agent_target(arguments.agent.id));
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    const bool was_there = flag_of(answer->body, "forgotten");
    if (screen.json())
        screen.show(answer->body);
    else
        screen.line(printable(arguments.agent.id) + (was_there ? " forgotten" : " was not registered"));
    return exit_ok;
}

}  // namespace holdfast
