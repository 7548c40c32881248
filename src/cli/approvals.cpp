#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

std::string approval_target(const std::string& identity) {
    return "/v1/approvals/" + percent_encode(identity);
}

std::string service_rule_target(const std::string& name) {
    return "/v1/service-rules/" + percent_encode(name);
}

int put_service_rule(const Arguments& arguments, std::string_view kind, const std::string& done) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const ServiceRuleOptions& rule = arguments.service_rule;
    json::object body{{"rule", kind}};
    if (!rule.identity.empty()) body["identity"] = rule.identity;
    if (!rule.reason.empty()) body["reason"] = rule.reason;
    return show_done(screen, api.send("PUT", service_rule_target(rule.name), body), done);
}

}  // namespace

int approve_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& identity = arguments.ban.holder;
    const auto answer = api.send("PUT", approval_target(identity), json::object{});
    const bool is_new = answer && flag_of(answer->body, "changed");
    return show_done(screen, answer, identity + (is_new ? " approved" : " was approved already"));
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
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    const json::array& waiting = array_of(answer->body, "waiting");
    const json::array& approved = array_of(answer->body, "approved");
    if (text_of(answer->body, "approval") != "manual")
        screen.note("whoever is not banned may advertise; 'holdfast policy set --approval manual' asks for approval");
    Table table{{"IDENTITY", "STATE", "LAST SEEN", "NAME", "ADDRESS"}};
    for (const json::value& one : waiting)
        table.add({{text_of(one, "identity"), Colour::bold},
                   {"waiting", Colour::yellow},
                   {text_of(one, "last_seen")},
                   {text_of(one, "name")},
                   {text_of(one, "address")}});
    for (const json::value& one : approved)
        if (one.is_string())
            table.add({{one.as_string().c_str(), Colour::bold}, {"approved", Colour::green}, {}, {}, {}});
    if (waiting.empty() && approved.empty())
        screen.note("nobody waits for approval, and nobody is approved");
    else
        screen.show(table);
    return exit_ok;
}

int service_rules_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all("/v1/service-rules?limit=1000", "rules");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    const json::array& rules = array_of(answer->body, "rules");
    Table table{{"NAME", "RULE", "IDENTITY", "SINCE", "REASON"}};
    for (const json::value& rule : rules) {
        const bool everybody = field_of(rule, "identity").is_null();
        table.add({{text_of(rule, "name"), Colour::bold},
                   {text_of(rule, "rule")},
                   {everybody ? "everybody" : text_of(rule, "identity")},
                   {text_of(rule, "since")},
                   {text_of(rule, "reason")}});
    }
    if (rules.empty())
        screen.note("every name may be had by whoever may advertise");
    else
        screen.show(table);
    return exit_ok;
}

int service_deny_command(const Arguments& arguments) {
    const ServiceRuleOptions& rule = arguments.service_rule;
    const std::string whom = rule.identity.empty() ? "everybody" : rule.identity;
    return put_service_rule(arguments, "denied", rule.name + " is denied to " + whom);
}

int service_reserve_command(const Arguments& arguments) {
    const ServiceRuleOptions& rule = arguments.service_rule;
    return put_service_rule(arguments, "reserved", rule.name + " is reserved for " + rule.identity);
}

int service_allow_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const ServiceRuleOptions& rule = arguments.service_rule;
    const std::string query = rule.identity.empty() ? "" : "?identity=" + percent_encode(rule.identity);
    const auto answer = api.remove(service_rule_target(rule.name) + query);
    const auto lifted = answer ? number_of(answer->body, "lifted") : 0;
    return show_done(screen, answer,
                     lifted == 0   ? "there was no such rule about " + rule.name
                     : lifted == 1 ? "the rule about " + rule.name + " is lifted"
                                   : std::to_string(lifted) + " rules about " + rule.name + " are lifted");
}

}  // namespace holdfast
