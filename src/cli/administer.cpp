#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/api.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "client/messages.h"

namespace holdfast::cli {
namespace {

using Kind = JsonValue::Kind;

std::string ban_target(const std::string& holder) {
    return "/v1/bans/" + percent_encode(holder);
}

std::string setting_of(const JsonValue& setting) {
    if (setting.is(Kind::null)) return "any";
    return setting.is(Kind::string) ? setting.text : duration_of(setting);
}

std::string count_or_any(const JsonValue& setting) {
    return setting.is(Kind::null) ? "any" : setting.text;
}

/// Zero means no limit.
JsonValue limit_of(std::int64_t limit) {
    return limit == 0 ? JsonValue(nullptr) : JsonValue(limit);
}

struct PolicySettingName {
    std::string_view option;
    std::string_view field;
};
constexpr std::array<PolicySettingName, 9> policy_settings{{{"ttl-min", "ttl_min_ms"},
                                                            {"ttl-max", "ttl_max_ms"},
                                                            {"ttl-default", "ttl_default_ms"},
                                                            {"ttl-over-max", "ttl_over_max"},
                                                            {"wait-max", "wait_max_ms"},
                                                            {"name-pattern", "name_pattern"},
                                                            {"hold-max", "hold_max_ms"},
                                                            {"idle-max", "idle_max_ms"},
                                                            {"leases-per-holder-max", "leases_per_holder_max"}}};

std::string policy_target(const PolicyOptions& options) {
    return with_query("/v1/policy", {{"namespace", options.name_space}});
}

std::string names_in(const JsonValue& list) {
    std::string names;
    for (const JsonValue& name : list.items)
        names += (names.empty() ? "" : ", ") + printable(name.text);
    return names;
}

bool is_in(const JsonValue& list, std::string_view name) {
    return std::any_of(list.items.begin(), list.items.end(), [&](const JsonValue& one) { return one.text == name; });
}

int show_policy(const Screen& screen, const Result<Answer>& answer) {
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const JsonValue& inherited = answer->body["inherited"];
    Table table{inherited.is(Kind::array) ? std::vector<std::string>{"SETTING", "VALUE", "FROM"}
                                          : std::vector<std::string>{"SETTING", "VALUE"}};
    const auto add = [&](std::string_view name, std::string value, std::string_view from) {
        Table::Row row{{std::string(name)}, {std::move(value)}};
        if (inherited.is(Kind::array)) row.push_back({std::string(from)});
        table.add(std::move(row));
    };
    for (const PolicySettingName& one : policy_settings) {
        const bool is_count = one.option == "leases-per-holder-max";
        add(one.option, is_count ? count_or_any(answer->body[one.field]) : setting_of(answer->body[one.field]),
            is_in(inherited, one.field) ? "inherited" : "this namespace");
    }
    add("approval", setting_of(answer->body["approval"]), "all namespaces");
    const JsonValue& namespaces = answer->body["namespaces"];
    if (!namespaces.items.empty()) add("namespaces", names_in(namespaces), "");
    screen.show(table);
    return exit_ok;
}

struct Verb {
    std::string path;
    std::string done;
};

/// Sends the request for each lease; with --json prints all answers as one object. Returns the worst exit code.
int to_each(const Arguments& arguments, const Verb& verb) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    int exit_code = exit_ok;
    JsonValue::List results;
    for (const std::string& lease : arguments.named.leases) {
        const auto answer = api.send("POST", client::lease_target(lease) + verb.path, JsonValue::object());
        if (!answer) return fail(screen, answer.error());
        results.push_back(answer->body);
        const bool runs_out = answer->body["lease"].is(Kind::object);
        if (answer->ok() && !screen.json())
            screen.line(fmt::format("{} {}", printable(lease), runs_out ? "barred from renewal" : verb.done));
        if (answer->ok()) continue;
        const int failed = screen.json() ? exit_code_of(*answer) : fail(screen, *answer);
        exit_code = worst_of(exit_code, failed);
    }
    if (screen.json()) show_results(screen, std::move(results));
    return exit_code;
}

std::string approval_target(const std::string& identity) {
    return "/v1/approvals/" + percent_encode(identity);
}

std::string service_rule_target(const std::string& name) {
    return "/v1/service-rules/" + percent_encode(name);
}

Table::Row service_rule_row(const JsonValue& rule) {
    const bool everybody = rule["identity"].is(Kind::null);
    return {{rule["name"].text, Colour::bold},
            {rule["rule"].text},
            {everybody ? "everybody" : rule["identity"].text},
            {rule["since"].text},
            {rule["reason"].text}};
}

int put_service_rule(const Arguments& arguments, std::string_view kind, const std::string& done) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const ServiceRuleOptions& rule = arguments.service_rule;
    auto body = JsonValue::object({{"rule", kind}});
    if (!rule.identity.empty()) body.set("identity", rule.identity);
    if (!rule.reason.empty()) body.set("reason", rule.reason);
    return show_done(screen, api.send("PUT", service_rule_target(rule.name), body), done);
}

CLI::Option* add_optional_text(CLI::App* command, const std::string& name, std::optional<std::string>& target,
                               const std::string& description) {
    return command
        ->add_option_function<std::string>(
            name, [&target](const std::string& text) { target = text; }, description)
        ->type_name("TEXT");
}

void add_policy(CLI::App& app, Arguments& arguments) {
    CLI::App* policy =
        add_command(app, arguments, "policy",
                    "the limits for leases, of all namespaces or of one; without a subcommand, show them");
    policy->require_subcommand(0, 1);
    CLI::App* get = add_command(*policy, arguments, "get", "show the policy");
    CLI::App* set =
        add_command(*policy, arguments, "set", "change the policy; settings that are not named stay as they are");
    PolicyOptions& options = arguments.policy;
    for (CLI::App* command : {policy, get, set})
        add_text(command, "--namespace", options.name_space,
                 "the namespace; ~keys and ~services are those of keys and services; default: the one that the others "
                 "inherit from")
            ->envname("HOLDFAST_POLICY_NAMESPACE");
    add_duration(set, "--ttl-min", options.ttl_min, "the shortest TTL; a shorter one is refused")
        ->envname("HOLDFAST_POLICY_TTL_MIN");
    add_duration(set, "--ttl-max", options.ttl_max, "the longest TTL")->envname("HOLDFAST_POLICY_TTL_MAX");
    add_duration(set, "--ttl-default", options.ttl_default, "the TTL of requests without one")
        ->envname("HOLDFAST_POLICY_TTL_DEFAULT");
    add_optional_text(set, "--ttl-over-max", options.ttl_over_max, "what to do with a TTL above the longest")
        ->check(CLI::IsMember({"cut", "reject"}))
        ->envname("HOLDFAST_POLICY_TTL_OVER_MAX");
    add_duration(set, "--wait-max", options.wait_max, "the longest wait of one request")
        ->envname("HOLDFAST_POLICY_WAIT_MAX");
    add_optional_text(set, "--name-pattern", options.name_pattern,
                      "an RE2 pattern that the whole name of a resource or a service must match; empty: any name")
        ->envname("HOLDFAST_POLICY_NAME_PATTERN");
    add_duration(set, "--hold-max", options.hold_max,
                 "how long one holder may keep one resource, even if it releases and reacquires it; 0s: no limit")
        ->envname("HOLDFAST_POLICY_HOLD_MAX");
    add_duration(set, "--idle-max", options.idle_max, "how long the progress of a lease may stand still; 0s: no limit")
        ->envname("HOLDFAST_POLICY_IDLE_MAX");
    add_number(set, "--leases-per-holder-max", options.leases_per_holder_max,
               "how many leases one holder may have; 0: no limit")
        ->envname("HOLDFAST_POLICY_LEASES_PER_HOLDER_MAX");
    std::vector<std::string> names;
    for (const PolicySettingName& one : policy_settings)
        names.emplace_back(one.option);
    set->add_option("--inherit", options.inherit, "a setting that the namespace inherits again; repeatable")
        ->type_name("SETTING")
        ->delimiter(',')
        ->check(CLI::IsMember(names))
        ->envname("HOLDFAST_POLICY_INHERIT");
    add_optional_text(set, "--approval", options.approval,
                      "which publishers may advertise services: auto: all, manual: approved ones")
        ->check(CLI::IsMember({"auto", "manual"}))
        ->envname("HOLDFAST_POLICY_APPROVAL");
}

void add_bans(CLI::App& app, Arguments& arguments) {
    CLI::App* ban =
        add_command(app, arguments, "ban", "refuse all acquires and renewals of a holder, and hide its services");
    ban->add_option("HOLDER", arguments.ban.holder, "a holder, an identity, an IP address or an address prefix")
        ->required();
    add_text(ban, "--reason", arguments.ban.reason, "shown to the holder")->envname("HOLDFAST_BAN_REASON");
    CLI::App* unban = add_command(app, arguments, "unban", "lift a ban");
    unban->add_option("HOLDER", arguments.ban.holder, "as given to ban")->required();
    add_command(app, arguments, "bans", "list the bans");
    const auto add_identity = [&](CLI::App* command) {
        command
            ->add_option("IDENTITY", arguments.ban.holder,
                         "the publisher's identity, as 'holdfast identity show' prints it")
            ->required();
    };
    add_identity(add_command(app, arguments, "approve", "let a publisher advertise services"));
    add_identity(add_command(app, arguments, "deny", "ban a publisher, and withdraw its approval"));
    add_command(app, arguments, "approvals", "list the publishers that wait for approval or have it");
    add_command(app, arguments, "audit", "show what admins did, and who did it");
}

void add_service_rules(CLI::App& app, Arguments& arguments) {
    CLI::App* service =
        add_command(app, arguments, "service", "who may use which service name; without a subcommand, list the rules");
    service->require_subcommand(0, 1);
    ServiceRuleOptions& options = arguments.service_rule;
    const auto add = [&](const std::string& verb, const std::string& description, const std::string& whom) {
        CLI::App* command = add_command(*service, arguments, verb, description);
        command->add_option("NAME", options.name, "the name of a service")->required();
        return command->add_option("--identity", options.identity, whom)->type_name("ID");
    };
    const auto add_reason = [&](CLI::App* command) {
        add_text(command, "--reason", options.reason, "shown to the publisher")->envname("HOLDFAST_SERVICE_REASON");
    };
    add_command(*service, arguments, "rules", "list the names that are denied or reserved");
    add("deny", "deny a name to an identity, or to everybody", "the identity; default: everybody");
    add_reason(service->get_subcommand("deny"));
    add("reserve", "reserve a name for an identity", "the identity")->required();
    add_reason(service->get_subcommand("reserve"));
    add("allow", "remove rules of deny and reserve", "only rules for this identity; default: all rules for the name");
}

}  // namespace

void add_admin_commands(CLI::App& app, Arguments& arguments) {
    add_policy(app, arguments);
    add_bans(app, arguments);
    add_service_rules(app, arguments);
}

int policy_get_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    return show_policy(screen, api.get(policy_target(arguments.policy)));
}

int policy_set_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const PolicyOptions& policy = arguments.policy;
    Api api{arguments.common};
    auto body = JsonValue::object();
    if (policy.ttl_min) body.set("ttl_min_ms", to_ms(*policy.ttl_min));
    if (policy.ttl_max) body.set("ttl_max_ms", to_ms(*policy.ttl_max));
    if (policy.ttl_default) body.set("ttl_default_ms", to_ms(*policy.ttl_default));
    if (policy.ttl_over_max) body.set("ttl_over_max", *policy.ttl_over_max);
    if (policy.wait_max) body.set("wait_max_ms", to_ms(*policy.wait_max));
    if (policy.name_pattern) body.set("name_pattern", *policy.name_pattern);
    if (policy.name_pattern && policy.name_pattern->empty()) body.set("name_pattern", nullptr);
    if (policy.hold_max) body.set("hold_max_ms", limit_of(to_ms_up(*policy.hold_max)));
    if (policy.idle_max) body.set("idle_max_ms", limit_of(to_ms_up(*policy.idle_max)));
    if (policy.leases_per_holder_max)
        body.set("leases_per_holder_max", limit_of(static_cast<std::int64_t>(*policy.leases_per_holder_max)));
    if (policy.approval) body.set("approval", *policy.approval);
    JsonValue::List inherit;
    for (const PolicySettingName& one : policy_settings)
        if (std::find(policy.inherit.begin(), policy.inherit.end(), one.option) != policy.inherit.end())
            inherit.emplace_back(one.field);
    if (!inherit.empty()) body.set("inherit", std::move(inherit));
    if (body.members.empty()) {
        screen.complain("name a setting to change, for example --ttl-max 10m; see 'holdfast policy set --help'");
        return exit_usage;
    }
    return show_policy(screen, api.send("PATCH", policy_target(policy), body));
}

int ban_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    auto body = JsonValue::object();
    if (!arguments.ban.reason.empty()) body.set("reason", arguments.ban.reason);
    return show_done(screen, api.send("PUT", ban_target(arguments.ban.holder), body), arguments.ban.holder + " banned");
}

int unban_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.remove(ban_target(arguments.ban.holder));
    const bool was_banned = answer && answer->body["unbanned"].truth;
    return show_done(screen, answer, arguments.ban.holder + (was_banned ? " unbanned" : " was not banned"));
}

int bans_command(const Arguments& arguments) {
    return show_list(
        arguments.common,
        {.target = "/v1/bans?limit=1000",
         .items = "bans",
         .headings = {"HOLDER", "SINCE", "REASON"},
         .row =
             [](const JsonValue& ban) {
                 return Table::Row{{ban["holder"].text, Colour::bold}, {ban["since"].text}, {ban["reason"].text}};
             },
         .none = "nobody is banned"});
}

int audit_command(const Arguments& arguments) {
    return show_list(
        arguments.common,
        {.target = "/v1/audit?limit=1000",
         .items = "audit",
         .headings = {"AT", "WHO", "WHAT"},
         .row =
             [](const JsonValue& line) {
                 return Table::Row{{line["at"].text}, {line["who"].text}, {line["what"].text, Colour::bold}};
             },
         .none = "no admin has changed anything yet"});
}

int revoke_command(const Arguments& arguments) {
    return to_each(arguments, {"/revoke", "REVOKED"});
}

int bar_command(const Arguments& arguments) {
    return to_each(arguments, {"/bar", "barred from renewal"});
}

int approve_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& identity = arguments.ban.holder;
    const auto answer = api.send("PUT", approval_target(identity), JsonValue::object());
    const bool is_new = answer && answer->body["changed"].truth;
    return show_done(screen, answer, identity + (is_new ? " approved" : " was already approved"));
}

int deny_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& identity = arguments.ban.holder;
    return show_done(screen, api.remove(approval_target(identity)), identity + " denied");
}

int approvals_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all("/v1/approvals?limit=1000", "approved");
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const JsonValue::List& waiting = answer->body["waiting"].items;
    const JsonValue::List& approved = answer->body["approved"].items;
    if (answer->body["approval"].text != "manual")
        screen.note(
            "any publisher that is not banned may advertise; 'holdfast policy set --approval manual' requires "
            "approval");
    Table table{{"IDENTITY", "STATE", "LAST SEEN", "NAME", "ADDRESS"}};
    for (const JsonValue& one : waiting)
        table.add({{one["identity"].text, Colour::bold},
                   {"waiting", Colour::yellow},
                   {one["last_seen"].text},
                   {one["name"].text},
                   {one["address"].text}});
    for (const JsonValue& one : approved)
        table.add({{one.text, Colour::bold}, {"approved", Colour::green}, {}, {}, {}});
    if (waiting.empty() && approved.empty())
        screen.note("no publisher waits for approval, and none is approved");
    else
        screen.show(table);
    return exit_ok;
}

int service_rules_command(const Arguments& arguments) {
    return show_list(arguments.common, {.target = "/v1/service-rules?limit=1000",
                                        .items = "rules",
                                        .headings = {"NAME", "RULE", "IDENTITY", "SINCE", "REASON"},
                                        .row = service_rule_row,
                                        .none = "any publisher that may advertise may use any name"});
}

int service_deny_command(const Arguments& arguments) {
    const ServiceRuleOptions& rule = arguments.service_rule;
    const std::string whom = rule.identity.empty() ? "everybody" : rule.identity;
    return put_service_rule(arguments, "denied", fmt::format("{} is denied to {}", rule.name, whom));
}

int service_reserve_command(const Arguments& arguments) {
    const ServiceRuleOptions& rule = arguments.service_rule;
    return put_service_rule(arguments, "reserved", fmt::format("{} is reserved for {}", rule.name, rule.identity));
}

int service_allow_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const ServiceRuleOptions& rule = arguments.service_rule;
    const auto answer = api.remove(with_query(service_rule_target(rule.name), {{"identity", rule.identity}}));
    const auto lifted = answer ? answer->body["lifted"].number : 0;
    return show_done(screen, answer,
                     lifted == 0   ? "there was no such rule for " + rule.name
                     : lifted == 1 ? "removed the rule for " + rule.name
                                   : fmt::format("removed {} rules for {}", lifted, rule.name));
}

}  // namespace holdfast::cli
