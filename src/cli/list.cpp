#include <algorithm>
#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

namespace json = boost::json;

/// Below this a lease is shown as about to end.
constexpr auto soon = 10s;

std::string list_target(const FilterOptions& filter) {
    return with_query(
        "/v1/leases",
        {{"holder", filter.holder}, {"prefix", filter.prefix}, {"namespace", filter.name_space}, {"limit", "1000"}});
}

std::string shown_resource(const json::value& lease) {
    return shown_name(text_of(lease, "namespace"), text_of(lease, "resource"));
}

/// By resource, then by age, so that the output is deterministic.
void sort(json::array& leases) {
    std::sort(leases.begin(), leases.end(), [](const json::value& one, const json::value& other) {
        const auto key = [](const json::value& lease) {
            return std::pair{shown_resource(lease), number_of(lease, "token")};
        };
        return key(one) < key(other);
    });
}

Table leases_table(const json::array& leases) {
    Table table{{"RESOURCE", "PREDICATE", "HOLDER", "TOKEN", "REMAINING", "REASON"}};
    for (const json::value& lease : leases) {
        const std::chrono::milliseconds left{number_of(field_of(lease, "timeline"), "expires_in_ms")};
        table.add({{shown_resource(lease), Colour::bold},
                   {text_of(lease, "predicate")},
                   {text_of(lease, "holder")},
                   {count_of(lease, "token")},
                   {format_duration(left), left < soon ? Colour::yellow : Colour::none},
                   {text_of(lease, "reason"), Colour::dim}});
    }
    return table;
}

Colour colour_of_event(std::string_view type) {
    if (type == "granted") return Colour::green;
    if (type == "released" || type == "renewed") return Colour::dim;
    return Colour::yellow;
}

std::string line_of(const json::value& event, bool colours) {
    const std::string type = text_of(event, "type");
    return fmt::format(
        "{}  {}  {}  {}  {}", text_of(event, "at"), coloured(fmt::format("{:8}", type), colour_of_event(type), colours),
        printable(text_of(event, "lease")), text_of(event, "predicate"), printable(text_of(event, "holder")));
}

void show_event(const Screen& screen, const StreamEvent& event) {
    if (event.type == "missed") {
        screen.complain("some events were missed; 'holdfast list' shows the current leases");
        if (screen.json()) screen.show(json::value{{"type", "missed"}});
        return;
    }
    boost::system::error_code malformed;
    const json::value data = json::parse(event.data, malformed);
    if (malformed) return;
    if (screen.json())
        screen.show(data);
    else
        screen.line(line_of(data, screen.colours()));
}

}  // namespace

int list_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all(list_target(arguments.filter), "leases");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    json::array leases = array_of(answer->body, "leases");
    sort(leases);
    if (screen.json())
        screen.show(json::value{{"leases", std::move(leases)}, {"next", nullptr}});
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
