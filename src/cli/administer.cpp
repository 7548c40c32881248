#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

std::string ban_target(const std::string& holder) {
    return "/v1/bans/" + percent_encode(holder);
}

std::string setting_of(const json::value& policy, std::string_view name) {
    const json::value& value = field_of(policy, name);
    if (value.is_null()) return "any";
    if (value.is_string()) return text_of(policy, name);
    return format_duration(std::chrono::milliseconds{number_of(policy, name)});
}

std::string count_or_any(const json::value& policy, std::string_view name) {
    return field_of(policy, name).is_null() ? "any" : std::to_string(number_of(policy, name));
}

/// Zero means no limit.
json::value limit_of(std::int64_t limit) {
    if (limit == 0) return nullptr;
    return limit;
}

int show_policy(const Screen& screen, const Result<Answer>& answer) {
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    Table table{{"SETTING", "VALUE"}};
    table.add({{"ttl-min"}, {setting_of(answer->body, "ttl_min_ms")}});
    table.add({{"ttl-max"}, {setting_of(answer->body, "ttl_max_ms")}});
    table.add({{"ttl-default"}, {setting_of(answer->body, "ttl_default_ms")}});
    table.add({{"ttl-over-max"}, {setting_of(answer->body, "ttl_over_max")}});
    table.add({{"wait-max"}, {setting_of(answer->body, "wait_max_ms")}});
    table.add({{"name-pattern"}, {setting_of(answer->body, "name_pattern")}});
    table.add({{"hold-max"}, {setting_of(answer->body, "hold_max_ms")}});
    table.add({{"idle-max"}, {setting_of(answer->body, "idle_max_ms")}});
    table.add({{"leases-per-holder-max"}, {count_or_any(answer->body, "leases_per_holder_max")}});
    table.add({{"approval"}, {setting_of(answer->body, "approval")}});
    screen.show(table);
    return exit_ok;
}

struct Verb {
    std::string path;
    std::string done;
};

/// Applies the verb to each lease; with --json all answers are printed as one object. Returns the worst exit code.
int to_each(const Arguments& arguments, const Verb& verb) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    int exit_code = exit_ok;
    json::array results;
    for (const std::string& lease : arguments.named.leases) {
        const auto answer = api.send("POST", lease_target(lease) + verb.path, json::object{});
        if (!answer) return fail(screen, answer.error());
        results.push_back(answer->body);
        const bool runs_out = field_of(answer->body, "lease").is_object();
        if (answer->ok() && !screen.json())
            screen.line(printable(lease) + " " + (runs_out ? "barred from renewal" : verb.done));
        if (answer->ok()) continue;
        const int failed = screen.json() ? exit_code_of(*answer) : fail(screen, *answer);
        exit_code = worst_of(exit_code, failed);
    }
    if (screen.json()) screen.show(results.size() == 1 ? results[0] : json::value{{"results", results}});
    return exit_code;
}

}  // namespace

int policy_get_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    return show_policy(screen, api.get("/v1/policy"));
}

int policy_set_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const PolicyOptions& policy = arguments.policy;
    Api api{arguments.common};
    json::object body;
    if (policy.ttl_min) body["ttl_min_ms"] = to_ms(*policy.ttl_min);
    if (policy.ttl_max) body["ttl_max_ms"] = to_ms(*policy.ttl_max);
    if (policy.ttl_default) body["ttl_default_ms"] = to_ms(*policy.ttl_default);
    if (policy.ttl_over_max) body["ttl_over_max"] = *policy.ttl_over_max;
    if (policy.wait_max) body["wait_max_ms"] = to_ms(*policy.wait_max);
    if (policy.name_pattern) body["name_pattern"] = *policy.name_pattern;
    if (policy.name_pattern && policy.name_pattern->empty()) body["name_pattern"] = nullptr;
    if (policy.hold_max) body["hold_max_ms"] = limit_of(to_ms_up(*policy.hold_max));
    if (policy.idle_max) body["idle_max_ms"] = limit_of(to_ms_up(*policy.idle_max));
    if (policy.leases_per_holder_max)
        body["leases_per_holder_max"] = limit_of(static_cast<std::int64_t>(*policy.leases_per_holder_max));
    if (policy.approval) body["approval"] = *policy.approval;
    if (body.empty()) {
        screen.complain("say what to change, for example --ttl-max 10m; see 'holdfast policy set --help'");
        return exit_usage;
    }
    return show_policy(screen, api.send("PATCH", "/v1/policy", body));
}

int ban_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    json::object body;
    if (!arguments.ban.reason.empty()) body["reason"] = arguments.ban.reason;
    return show_done(screen, api.send("PUT", ban_target(arguments.ban.holder), body), arguments.ban.holder + " banned");
}

int unban_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.remove(ban_target(arguments.ban.holder));
    const bool was_banned = answer && flag_of(answer->body, "unbanned");
    return show_done(screen, answer, arguments.ban.holder + (was_banned ? " unbanned" : " was not banned"));
}

int bans_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all("/v1/bans?limit=1000", "bans");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    Table table{{"HOLDER", "SINCE", "REASON"}};
    for (const json::value& ban : array_of(answer->body, "bans"))
        table.add({{text_of(ban, "holder"), Colour::bold}, {text_of(ban, "since")}, {text_of(ban, "reason")}});
    if (screen.json())
        screen.show(answer->body);
    else if (array_of(answer->body, "bans").empty())
        screen.note("nobody is banned");
    else
        screen.show(table);
    return exit_ok;
}

int audit_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all("/v1/audit?limit=1000", "audit");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    Table table{{"AT", "WHO", "WHAT"}};
    for (const json::value& line : array_of(answer->body, "audit"))
        table.add({{text_of(line, "at")}, {text_of(line, "who")}, {text_of(line, "what"), Colour::bold}});
    if (screen.json())
        screen.show(answer->body);
    else if (array_of(answer->body, "audit").empty())
        screen.note("no admin has done anything yet");
    else
        screen.show(table);
    return exit_ok;
}

int revoke_command(const Arguments& arguments) {
    return to_each(arguments, {"/revoke", "REVOKED"});
}

int bar_command(const Arguments& arguments) {
    return to_each(arguments, {"/bar", "barred from renewal"});
}

}  // namespace holdfast
