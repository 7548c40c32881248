#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

/// Below this a lease is shown as about to end.
constexpr auto soon = 10s;

std::string list_target(const FilterOptions& filter) {
    return with_query(
        "/v1/leases",
        {{"holder", filter.holder}, {"prefix", filter.prefix}, {"namespace", filter.name_space}, {"limit", "1000"}});
}

std::string shown_resource(const JsonValue& lease) {
    return shown_name(lease["namespace"].text, lease["resource"].text);
}

/// By resource, then by age, so that the output is deterministic.
void sort(JsonValue::List& leases) {
    std::sort(leases.begin(), leases.end(), [](const JsonValue& one, const JsonValue& other) {
        const auto key = [](const JsonValue& lease) { return std::pair{shown_resource(lease), lease["token"].number}; };
        return key(one) < key(other);
    });
}

Table leases_table(const JsonValue::List& leases) {
    Table table{{"RESOURCE", "PREDICATE", "HOLDER", "TOKEN", "REMAINING", "REASON"}};
    for (const JsonValue& lease : leases) {
        const auto left = ms_of(lease["timeline"]["expires_in_ms"]);
        table.add({{shown_resource(lease), Colour::bold},
                   {lease["predicate"].text},
                   {lease["holder"].text},
                   {lease["token"].text},
                   {format_duration(left), left < soon ? Colour::yellow : Colour::none},
                   {lease["reason"].text, Colour::dim}});
    }
    return table;
}

Colour colour_of_event(std::string_view type) {
    if (type == "granted") return Colour::green;
    if (type == "released" || type == "renewed") return Colour::dim;
    return Colour::yellow;
}

std::string line_of(const JsonValue& event, bool colours) {
    const std::string type = event["type"].text;
    return fmt::format("{}  {}  {}  {}  {}", event["at"].text,
                       coloured(fmt::format("{:8}", type), colour_of_event(type), colours),
                       printable(event["lease"].text), event["predicate"].text, printable(event["holder"].text));
}

void show_event(const Screen& screen, const StreamEvent& event) {
    if (event.type == "missed") {
        screen.complain("some events were missed; 'holdfast list' shows the current leases");
        if (screen.json()) screen.show(JsonValue::object({{"type", "missed"}}));
        return;
    }
    const auto data = read_json_object(event.data, answer_limits);
    if (!data) return;
    if (screen.json())
        screen.show(*data);
    else
        screen.line(line_of(*data, screen.colours()));
}

}  // namespace

int list_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    auto answer = api.get_all(list_target(arguments.filter), "leases");
    if (const auto exit_code = failed(screen, answer)) return *exit_code;
    JsonValue::List& leases = answer->body.find("leases")->items;
    sort(leases);
    if (screen.json())
        screen.show(answer->body);
    else if (leases.empty())
        screen.note("no active leases");
    else
        screen.show(leases_table(leases));
    return exit_ok;
}

int watch_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const EventFollower::Reader reader{[&](const StreamEvent& event) { show_event(screen, event); }};
    return EventFollower{arguments.common, events_target(arguments.filter), reader}.run();
}

}  // namespace holdfast::cli
