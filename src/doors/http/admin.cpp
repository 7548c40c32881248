#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/text.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "lease/ip_prefix.h"
#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast::doors::http {
namespace {

namespace limits = lease::limits;
using authority::Refused;

struct DecodedBan {
    std::string holder;
    std::string reason;
};

/// A page of the audit.
struct DecodedAudit {
    std::uint64_t after = 0;
    std::size_t limit = 100;
};

std::optional<bool> reject_above_max_field(JsonFields& fields) {
    const auto over = fields.text("ttl_over_max");
    if (!over) return std::nullopt;
    if (*over != "cut" && *over != "reject") fields.refuse("ttl_over_max must be cut or reject");
    return *over == "reject";
}

std::optional<lease::Approval> approval_field(JsonFields& fields) {
    const auto approval = fields.text("approval");
    if (!approval) return std::nullopt;
    if (*approval != "auto" && *approval != "manual") fields.refuse("approval must be auto or manual");
    return *approval == "manual" ? lease::Approval::manual : lease::Approval::automatic;
}

/// Empty for null.
std::optional<std::string> name_pattern_field(JsonFields& fields) {
    const JsonValue* pattern = fields.any("name_pattern");
    if (pattern == nullptr) return std::nullopt;
    if (pattern->kind == JsonValue::Kind::null) return std::string();
    if (pattern->kind != JsonValue::Kind::string) fields.refuse("name_pattern must be text or null");
    return pattern->text;
}

/// Zero for null. A quota of zero would allow nothing, so zero is not accepted for "no limit".
std::optional<Duration> quota_field(JsonFields& fields, std::string_view name) {
    const auto ms = fields.whole_or_null(name, 1, max_duration_ms);
    if (!ms) return std::nullopt;
    return std::chrono::milliseconds(*ms);
}

struct SettingName {
    std::string_view field;
    lease::PolicySetting setting;
};
constexpr std::array<SettingName, 9> setting_names{
    {{"ttl_min_ms", lease::PolicySetting::ttl_min},
     {"ttl_max_ms", lease::PolicySetting::ttl_max},
     {"ttl_default_ms", lease::PolicySetting::ttl_default},
     {"ttl_over_max", lease::PolicySetting::reject_above_max},
     {"wait_max_ms", lease::PolicySetting::wait_max},
     {"name_pattern", lease::PolicySetting::name_pattern},
     {"hold_max_ms", lease::PolicySetting::hold_max},
     {"idle_max_ms", lease::PolicySetting::idle_max},
     {"leases_per_holder_max", lease::PolicySetting::leases_per_holder_max}}};

/// `inherit`: the settings that the namespace is to inherit again.
std::vector<lease::PolicySetting> inherit_field(JsonFields& fields) {
    std::vector<lease::PolicySetting> inherit;
    const JsonValue* names = fields.array("inherit", setting_names.size());
    if (names == nullptr) return inherit;
    for (const JsonValue& name : names->items) {
        const auto known = std::find_if(setting_names.begin(), setting_names.end(), [&](const SettingName& one) {
            return name.kind == JsonValue::Kind::string && one.field == name.text;
        });
        if (known == setting_names.end())
            fields.refuse("inherit must be a list of the names of settings, such as hold_max_ms");
        else
            inherit.push_back(known->setting);
    }
    return inherit;
}

/// The namespace that a request for the policy is about.
Result<std::string> policy_namespace(Query& query) {
    std::string name = namespace_parameter(query);
    if (auto error = query.error()) return *error;
    return name.empty() ? std::string(lease::default_namespace) : name;
}

Result<std::string> decode_policy_query(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    return policy_namespace(*query);
}

Result<authority::PolicyChange> decode_policy_change(const Request& request) {
    auto query = Query::parse(request.query);
    if (!query) return query.error();
    auto name_space = policy_namespace(*query);
    if (!name_space) return name_space.error();
    auto body = read_json_object(request.body);
    if (!body) return body.error();
    JsonFields fields(*body);
    authority::PolicyChange change;
    change.name_space = std::move(*name_space);
    change.inherit = inherit_field(fields);
    change.ttl_min = fields.milliseconds("ttl_min_ms");
    change.ttl_max = fields.milliseconds("ttl_max_ms");
    change.ttl_default = fields.milliseconds("ttl_default_ms");
    change.wait_max = fields.milliseconds("wait_max_ms");
    change.reject_above_max = reject_above_max_field(fields);
    change.name_pattern = name_pattern_field(fields);
    change.approval = approval_field(fields);
    change.hold_max = quota_field(fields, "hold_max_ms");
    change.idle_max = quota_field(fields, "idle_max_ms");
    change.leases_per_holder_max = fields.whole_or_null("leases_per_holder_max", 1, max_count);
    if (auto error = fields.error()) return *error;
    return change;
}

Result<DecodedBan> decode_ban(const Request& request, const std::string& holder) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    fields.check(lease::check_holder(holder));
    if (lease::is_malformed_address(holder))
        fields.refuse(
            "this looks like an IP address or a prefix but is not valid; write 10.0.0.7, 10.0.0.0/8 or 2001:db8::/32");
    DecodedBan ban{holder, fields.plain_text("reason", lease::limits::reason_bytes)};
    if (auto error = fields.error()) return *error;
    return ban;
}

Result<DecodedAudit> decode_audit(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedAudit audit;
    audit.after = query->whole("after", 0, UINT64_MAX).value_or(0);
    audit.limit = query->whole("limit", 1, 1000).value_or(100);
    if (auto error = query->error()) return *error;
    return audit;
}

/// Zero means no limit and is written as null.
void put_quota(JsonWriter& json, std::string_view name, std::int64_t limit) {
    json.key(name);
    limit == 0 ? json.null() : json.number(limit);
}

/// For the default namespace, the other ones that have settings of their own. For those, what they inherit.
void put_inheritance(JsonWriter& json, const lease::Policy& policy, std::string_view name_space) {
    const bool is_default = name_space == lease::default_namespace;
    json.field("namespace", name_space).key(is_default ? "namespaces" : "inherited").open_array();
    if (is_default) {
        for (const auto& [name, own] : policy.namespaces)
            json.text(name);
    } else {
        const lease::NamespacePolicy settings = policy.of_namespace(name_space);
        for (const SettingName& one : setting_names)
            if (!settings.sets(one.setting)) json.text(one.field);
    }
    json.close_array();
}

Response answer_policy(const lease::Policy& whole, std::string_view name_space) {
    const lease::NamespacePolicy policy = whole.of_namespace(name_space);
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("ttl_min_ms", to_ms(policy.ttl_min())).field("ttl_max_ms", to_ms(policy.ttl_max()));
    json.field("ttl_default_ms", to_ms(policy.ttl_default()));
    json.field("ttl_over_max", policy.reject_above_max() ? "reject" : "cut");
    json.field("wait_max_ms", to_ms(policy.wait_max())).key("name_pattern");
    policy.name_pattern().text().empty() ? json.null() : json.text(policy.name_pattern().text());
    put_quota(json, "hold_max_ms", to_ms(policy.hold_max()));
    put_quota(json, "idle_max_ms", to_ms(policy.idle_max()));
    put_quota(json, "leases_per_holder_max", static_cast<std::int64_t>(policy.leases_per_holder_max()));
    json.field("approval", whole.approval == lease::Approval::manual ? "manual" : "auto");
    put_inheritance(json, whole, name_space);
    json.close_object();
    return response;
}

Response answer_unban(const std::string& holder, bool unbanned) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("holder", holder).flag("unbanned", unbanned).close_object();
    return response;
}

Response answer_bans(const lease::Policy& policy, const std::string& after, std::size_t limit) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("bans").open_array();
    auto at = policy.bans.upper_bound(after);
    std::string last;
    for (; at != policy.bans.end() && limit > 0; ++at, --limit) {
        put_ban(json, at->first, at->second);
        last = at->first;
    }
    json.close_array().field_or_null("next", at == policy.bans.end() ? std::string() : last).close_object();
    return response;
}

Response answer_audit(const store::AuditPage& page) {
    const std::string next = page.more ? std::to_string(page.lines.back().number) : std::string();
    return answer_page("audit", page.lines, next, [](JsonWriter& json, const store::AuditPage::Line& line) {
        json.open_object().field("number", line.number).field("at", format_wall_time(line.entry.at_wall_ms));
        json.field("who", line.entry.who).field("what", line.entry.what).close_object();
    });
}

}  // namespace

void handle_get_policy(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto name_space = decode_policy_query(request);
    if (!name_space) return reply(failure(name_space.error()));
    reply(answer_policy(services.authority.policy(), *name_space));
}

void handle_change_policy(Services& services, const Request& request, const std::string&, Reply reply) {
    auto change = decode_policy_change(request);
    if (!change) return reply(failure(change.error()));
    services.authority.change_policy(
        *change,
        [reply, name_space = change->name_space](const authority::Answer<lease::Policy>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_policy(std::get<lease::Policy>(answer), name_space));
        },
        caller_of(request));
}

void handle_list_bans(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_bans(services.authority.policy(), decoded->after, decoded->limit));
}

void handle_get_ban(Services& services, const Request& request, const std::string& holder, Reply reply) {
    if (auto checked = decode_holder_only(request, holder); !checked) return reply(failure(checked.error()));
    const auto& bans = services.authority.policy().bans;
    const auto found = bans.find(lease::ban_name(holder));
    if (found == bans.end()) return reply(failure(Code::not_banned));
    reply(answer_ban(found->first, found->second));
}

void handle_ban(Services& services, const Request& request, const std::string& holder, Reply reply) {
    auto decoded = decode_ban(request, holder);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.ban(
        holder, {decoded->reason, wall_clock_ms()},
        [reply, holder](const authority::Answer<lease::Ban>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_ban(lease::ban_name(holder), std::get<lease::Ban>(answer)));
        },
        caller_of(request));
}

void handle_unban(Services& services, const Request& request, const std::string& holder, Reply reply) {
    if (auto checked = decode_holder_only(request, holder); !checked) return reply(failure(checked.error()));
    services.authority.unban(
        holder,
        [reply, holder](const authority::Answer<bool>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_unban(lease::ban_name(holder), std::get<bool>(answer)));
        },
        caller_of(request));
}

void handle_audit(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_audit(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_audit(services.authority.audit(decoded->after, decoded->limit)));
}

}  // namespace holdfast::doors::http
