#include <string>
#include <vector>

#include "base/clock.h"
#include "base/code.h"
#include "base/result.h"
#include "base/text.h"
#include "discovery/directory/directory.h"
#include "discovery/directory/service_limits.h"
#include "discovery/directory/service_name.h"
#include "discovery/identity/identity.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "lease/limits.h"

namespace holdfast::doors::http {
namespace {

// What an admin decides about services: which identities are approved, and which names they may have (D5).

namespace limits = lease::limits;

/// A rule for the service name in the path, in canonical form. Further errors: `invalid_name`, `invalid_identity`.
struct DecodedNameRule {
    lease::NameRuleKey about;
    lease::NameRule rule;
};

Result<void> check_identity(const std::string& identity) {
    if (discovery::identity::is_identity_id(identity)) return {};
    return Error{Code::invalid_identity,
                 "an identity has 32 characters of a-z and 2-7, as `holdfast identity show` says"};
}

Result<std::string> service_name(const std::string& given) {
    auto name = discovery::directory::normalised_service_name(given);
    if (!name) return Error{Code::invalid_name, name.error().message};
    return std::move(*name);
}

Result<void> decode_identity_only(const Request& request, const std::string& identity) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing;
    return check_identity(identity);
}

Result<DecodedNameRule> decode_name_rule(const Request& request, const std::string& given) {
    auto body = body_only(request);
    if (!body) return body.error();
    auto name = service_name(given);
    if (!name) return name.error();
    JsonFields fields(*body);
    DecodedNameRule decoded;
    decoded.about.name = std::move(*name);
    decoded.about.identity = fields.text("identity").value_or("");
    decoded.rule.reason = fields.plain_text("reason", lease::limits::reason_bytes);
    decoded.rule.since_wall_ms = wall_clock_ms();
    const std::string rule = fields.text("rule").value_or("");
    if (rule == "reserved")
        decoded.rule.kind = lease::NameRule::Kind::reserved;
    else if (rule != "denied")
        fields.refuse("rule must be denied or reserved");
    if (rule == "reserved" && decoded.about.identity.empty())
        fields.refuse("identity must say whom the name is reserved for");
    if (auto error = fields.error()) return *error;
    if (decoded.about.identity.empty()) return decoded;
    if (auto checked = check_identity(decoded.about.identity); !checked) return checked.error();
    return decoded;
}

Result<lease::NameRuleKey> decode_lifted_name_rules(const Request& request, const std::string& given) {
    auto query = query_only(request);
    if (!query) return query.error();
    auto name = service_name(given);
    if (!name) return name.error();
    lease::NameRuleKey about{std::move(*name), query->text("identity", lease::limits::holder_bytes).value_or("")};
    if (auto error = query->error()) return *error;
    if (about.identity.empty()) return about;
    if (auto checked = check_identity(about.identity); !checked) return checked.error();
    return about;
}

/// A page of rules, after the one that `next` named.
struct DecodedRulesPage {
    lease::NameRuleKey after;
    std::size_t limit = 0;
};

Result<DecodedRulesPage> decode_name_rules_page(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedRulesPage page;
    const std::string after =
        query->text("after", discovery::directory::limits::service_name_bytes + lease::limits::holder_bytes)
            .value_or("");
    page.limit = query->whole("limit", 1, 1000).value_or(1000);
    if (auto error = query->error()) return *error;
    const std::size_t slash = after.rfind('/');
    page.after.name = after.substr(0, slash);
    if (slash != std::string::npos) page.after.identity = after.substr(slash + 1);
    return page;
}

void put_rule(JsonWriter& json, const lease::NameRuleKey& about, const lease::NameRule& rule) {
    const bool reserved = rule.kind == lease::NameRule::Kind::reserved;
    json.open_object().field("name", about.name).field_or_null("identity", about.identity);
    json.field("rule", reserved ? "reserved" : "denied").field("reason", rule.reason);
    json.field("since", format_wall_time(rule.since_wall_ms)).close_object();
}

Response answer_approvals(const lease::Policy& policy,
                          const std::vector<discovery::directory::Directory::Waiting>& waiting,
                          const std::string& after, std::size_t limit) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("approval", policy.approval == lease::Approval::manual ? "manual" : "auto");
    json.key("waiting").open_array();
    for (const discovery::directory::Directory::Waiting& one : waiting) {
        json.open_object().field("identity", one.identity).field("name", one.name).field("address", one.address);
        json.field("last_seen", format_wall_time(one.last_seen_ms)).close_object();
    }
    json.close_array().key("approved").open_array();
    auto at = policy.approved.upper_bound(after);
    std::string last;
    for (; at != policy.approved.end() && limit > 0; ++at, --limit) {
        json.text(*at);
        last = *at;
    }
    json.close_array().field_or_null("next", at == policy.approved.end() ? std::string() : last).close_object();
    return response;
}

Response answer_approve(const std::string& identity, bool is_new) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("identity", identity).flag("approved", true).flag("changed", is_new).close_object();
    return response;
}

Response answer_name_rules(const lease::Policy& policy, const lease::NameRuleKey& after, std::size_t limit) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("rules").open_array();
    auto at = policy.name_rules.upper_bound(after);
    std::string last;
    for (; at != policy.name_rules.end() && limit > 0; ++at, --limit) {
        put_rule(json, at->first, at->second);
        last = at->first.name + "/" + at->first.identity;
    }
    json.close_array().field_or_null("next", at == policy.name_rules.end() ? std::string() : last).close_object();
    return response;
}

Response answer_name_rule(const lease::NameRuleKey& about, const lease::NameRule& rule) {
    Response response;
    JsonWriter json(response.body);
    put_rule(json, about, rule);
    return response;
}

Response answer_lifted_name_rules(const lease::NameRuleKey& about, std::size_t lifted) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("name", about.name).field_or_null("identity", about.identity);
    json.field("lifted", std::uint64_t{lifted}).close_object();
    return response;
}

}  // namespace

void handle_list_approvals(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_approvals(services.authority.policy(), services.directory.awaiting_approval(), decoded->after,
                           decoded->limit));
}

void handle_approve(Services& services, const Request& request, const std::string& identity, Reply reply) {
    if (auto checked = decode_identity_only(request, identity); !checked) return reply(failure(checked.error()));
    services.authority.approve(
        identity,
        [reply, identity](const authority::Answer<bool>& answer) {
            if (const auto* refused = std::get_if<authority::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_approve(identity, std::get<bool>(answer)));
        },
        caller_of(request));
}

void handle_deny(Services& services, const Request& request, const std::string& identity, Reply reply) {
    if (auto checked = decode_identity_only(request, identity); !checked) return reply(failure(checked.error()));
    services.authority.deny(
        identity, {"denied", wall_clock_ms()},
        [reply, identity](const authority::Answer<lease::Ban>& answer) {
            if (const auto* refused = std::get_if<authority::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_ban(identity, std::get<lease::Ban>(answer)));
        },
        caller_of(request));
}

void handle_list_service_rules(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_name_rules_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_name_rules(services.authority.policy(), decoded->after, decoded->limit));
}

void handle_put_service_rule(Services& services, const Request& request, const std::string& name, Reply reply) {
    const auto decoded = decode_name_rule(request, name);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.put_name_rule(
        decoded->about, decoded->rule,
        [reply, about = decoded->about](const authority::Answer<lease::NameRule>& answer) {
            if (const auto* refused = std::get_if<authority::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_name_rule(about, std::get<lease::NameRule>(answer)));
        },
        caller_of(request));
}

void handle_lift_service_rules(Services& services, const Request& request, const std::string& name, Reply reply) {
    const auto about = decode_lifted_name_rules(request, name);
    if (!about) return reply(failure(about.error()));
    services.authority.lift_name_rules(
        *about,
        [reply, about = *about](const authority::Answer<std::size_t>& answer) {
            if (const auto* refused = std::get_if<authority::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_lifted_name_rules(about, std::get<std::size_t>(answer)));
        },
        caller_of(request));
}

}  // namespace holdfast::doors::http
