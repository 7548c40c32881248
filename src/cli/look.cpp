#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/api.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

/// Below this a lease is shown as about to end.
constexpr auto soon = 10s;

void add_parameter(std::string& query, std::string_view name, const std::string& value) {
    if (value.empty()) return;
    query += query.empty() ? '?' : '&';
    query.append(name).append("=").append(percent_encode(value));
}

std::string list_target(const FilterOptions& filter) {
    std::string query;
    add_parameter(query, "holder", filter.holder);
    add_parameter(query, "prefix", filter.prefix);
    add_parameter(query, "namespace", filter.name_space);
    add_parameter(query, "limit", "1000");
    return "/v1/leases" + query;
}

std::string shown_resource(const json::value& lease) {
    const std::string name_space = text_of(lease, "namespace");
    const std::string resource = text_of(lease, "resource");
    return name_space == "default" || name_space.empty() ? resource : "@" + name_space + "/" + resource;
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
                   {std::to_string(number_of(lease, "token"))},
                   {format_duration(left), left < soon ? Colour::yellow : Colour::none},
                   {text_of(lease, "reason"), Colour::dim}});
    }
    return table;
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

int health_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get("/health");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    const std::string status = text_of(answer->body, "status");
    const auto left = std::chrono::milliseconds{number_of(answer->body, "recovering_for_ms")};
    const std::string reason = text_of(answer->body, "reason");
    Table table{{"STATUS", "VERSION", "ACTIVE LEASES", "WAITERS"}};
    table.add({{status == "recovering" ? status + " for " + format_duration(left) : status,
                status == "ok" ? Colour::green : Colour::yellow},
               {text_of(answer->body, "version")},
               {std::to_string(number_of(answer->body, "active_leases"))},
               {std::to_string(number_of(answer->body, "waiters"))}});
    screen.show(table);
    if (!reason.empty()) screen.line(printable(reason));
    return exit_ok;
}

int version_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    if (screen.json())
        screen.show(json::value{{"version", version()}});
    else
        screen.line(std::string("holdfast ") + version());
    return exit_ok;
}

}  // namespace holdfast
