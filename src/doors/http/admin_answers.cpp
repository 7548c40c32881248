#include "base/text.h"
#include "doors/http/answers.h"
#include "doors/http/page_answer.h"

namespace holdfast::http {
namespace {

/// Zero is no limit, and is shown as none.
void put_quota(JsonWriter& json, std::string_view name, std::int64_t limit) {
    json.key(name);
    limit == 0 ? json.null() : json.number(limit);
}

void put_ban(JsonWriter& json, const std::string& holder, const core::Ban& ban) {
    json.open_object().field("holder", holder).field("reason", ban.reason);
    json.field("since", format_wall_time(ban.since_wall_ms)).close_object();
}

}  // namespace

Response answer_policy(const core::Policy& policy) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("ttl_min_ms", to_ms(policy.ttl_min)).field("ttl_max_ms", to_ms(policy.ttl_max));
    json.field("ttl_default_ms", to_ms(policy.ttl_default));
    json.field("ttl_over_max", policy.reject_above_max ? "reject" : "cut");
    json.field("wait_max_ms", to_ms(policy.wait_max)).key("name_pattern");
    policy.name_pattern.text().empty() ? json.null() : json.text(policy.name_pattern.text());
    put_quota(json, "hold_max_ms", to_ms(policy.hold_max));
    put_quota(json, "idle_max_ms", to_ms(policy.idle_max));
    put_quota(json, "leases_per_holder_max", static_cast<std::int64_t>(policy.leases_per_holder_max));
    json.field("approval", policy.approval == core::Approval::manual ? "manual" : "auto");
    json.close_object();
    return response;
}

Response answer_ban(const std::string& holder, const core::Ban& ban) {
    Response response;
    JsonWriter json(response.body);
    put_ban(json, holder, ban);
    return response;
}

Response answer_unban(const std::string& holder, bool unbanned) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("holder", holder).flag("unbanned", unbanned).close_object();
    return response;
}

Response answer_bans(const core::Policy& policy, const std::string& after, std::size_t limit) {
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

Response answer_audit(const core::AuditPage& page) {
    const std::string next = page.more ? std::to_string(page.lines.back().number) : std::string();
    return answer_page("audit", page.lines, next, [](JsonWriter& json, const core::AuditPage::Line& line) {
        json.open_object().field("number", line.number).field("at", format_wall_time(line.entry.at_wall_ms));
        json.field("who", line.entry.who).field("what", line.entry.what).close_object();
    });
}

}  // namespace holdfast::http
