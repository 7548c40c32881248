#include "doors/http/service_answers.h"

#include <array>

#include "base/encodings.h"
#include "base/text.h"
#include "doors/http/page_answer.h"

namespace holdfast::http {
namespace {

std::string hex(std::uint64_t value) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> shift & 0xff);
    return to_hex(bytes);
}

void put_entry(JsonWriter& json, const core::ServiceEntry& entry) {
    json.open_object().field("name", entry.name).field("identity", entry.identity).field("address", entry.address);
    json.key("alpn").open_array();
    for (const std::string& name : entry.alpn)
        json.text(name);
    json.close_array().key("metadata").open_object();
    for (const auto& [key, value] : entry.metadata)
        json.field(key, value);
    json.close_object().field("token", entry.token);
    json.field("first_seen", format_wall_time(entry.first_seen_ms));
    json.field("last_seen", format_wall_time(entry.last_seen_ms));
    json.field("expires_in_ms", to_ms(entry.expires_in)).flag("connected", entry.connected);
    json.flag("stale", !entry.connected).field("relay", entry.relay).close_object();
}

void put_rule(JsonWriter& json, const core::NameRuleKey& about, const core::NameRule& rule) {
    const bool reserved = rule.kind == core::NameRule::Kind::reserved;
    json.open_object().field("name", about.name).field_or_null("identity", about.identity);
    json.field("rule", reserved ? "reserved" : "denied").field("reason", rule.reason);
    json.field("since", format_wall_time(rule.since_wall_ms)).close_object();
}

void put_refusal(JsonWriter& json, const discovery::UpdateResponse& told, core::Code code) {
    json.key("error").open_object().field("code", core::name_of(code)).field("message", message_of(code, told.message));
    json.close_object();
    if (told.retry_in > Duration::zero()) json.field("retry_in_ms", to_ms_up(told.retry_in));
}

}  // namespace

Response answer_update(const discovery::UpdateResponse& told, discovery::Action action) {
    Response response{.status = action == discovery::Action::enter ? 201 : 200};
    JsonWriter json(response.body);
    json.open_object();
    if (told.code != "ok") {
        response.code = code_named(told.code);
        response.status = status_of(*response.code);
        if (told.retry_in > Duration::zero()) response.retry_in = told.retry_in;
        put_refusal(json, told, *response.code);
    }
    if (!told.name.empty()) json.field("name", told.name);
    if (told.token != 0) {
        json.field("token", told.token).field("ttl_ms", to_ms(told.ttl)).field("expires_in_ms", to_ms(told.expires_in));
        json.field("renew_in_ms", to_ms(told.renew_in));
    }
    json.field("relay", hex(told.relay)).field("time_ms", told.time_ms).close_object();
    return response;
}

Response answer_service(const core::ServiceEntry& entry) {
    return answer_one("service", entry, put_entry);
}

Response answer_services(const core::ServicePage& page) {
    return answer_page("services", page.services, page.next, put_entry);
}

Response answer_relay(const RelayView& view) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("relay", hex(view.relay)).field("time_ms", view.time_ms);
    json.field("address", view.address).close_object();
    return response;
}

std::string service_event(std::string_view event, const core::ServiceEntry& entry) {
    std::string text = "event: ";
    text.append(event).append("\ndata: ");
    JsonWriter json(text);
    put_entry(json, entry);
    return text += "\n\n";
}

std::string listed_event() {
    return "event: listed\ndata: {}\n\n";
}

Response answer_approvals(const core::Policy& policy, const std::vector<core::Directory::Waiting>& waiting,
                          const std::string& after, std::size_t limit) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("approval", policy.approval == core::Approval::manual ? "manual" : "auto");
    json.key("waiting").open_array();
    for (const core::Directory::Waiting& one : waiting) {
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

Response answer_name_rules(const core::Policy& policy, const core::NameRuleKey& after, std::size_t limit) {
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

Response answer_name_rule(const core::NameRuleKey& about, const core::NameRule& rule) {
    Response response;
    JsonWriter json(response.body);
    put_rule(json, about, rule);
    return response;
}

Response answer_lifted_name_rules(const core::NameRuleKey& about, std::size_t lifted) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("name", about.name).field_or_null("identity", about.identity);
    json.field("lifted", std::uint64_t{lifted}).close_object();
    return response;
}

}  // namespace holdfast::http
