#include "doors/http/decode.h"
#include "doors/http/decode_parts.h"
#include "lease/ip_prefix.h"
#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast::http {
namespace {

namespace limits = core::limits;

std::optional<bool> reject_above_max_field(Fields& fields) {
    const auto over = fields.text("ttl_over_max");
    if (!over) return std::nullopt;
    if (*over != "cut" && *over != "reject") fields.refuse("ttl_over_max must be cut or reject");
    return *over == "reject";
}

std::optional<core::Approval> approval_field(Fields& fields) {
    const auto approval = fields.text("approval");
    if (!approval) return std::nullopt;
    if (*approval != "auto" && *approval != "manual") fields.refuse("approval must be auto or manual");
    return *approval == "manual" ? core::Approval::manual : core::Approval::automatic;
}

/// Empty for null.
std::optional<std::string> name_pattern_field(Fields& fields) {
    const JsonValue* pattern = fields.any("name_pattern");
    if (pattern == nullptr) return std::nullopt;
    if (pattern->kind == JsonValue::Kind::null) return std::string();
    if (pattern->kind != JsonValue::Kind::string) fields.refuse("name_pattern must be text or null");
    return pattern->text;
}

/// Zero for null. A quota of zero would allow nothing and is no way to say "no limit".
std::optional<Duration> quota_field(Fields& fields, std::string_view name) {
    const auto ms = fields.whole_or_null(name, 1, duration_ms_max);
    if (!ms) return std::nullopt;
    return std::chrono::milliseconds(*ms);
}

Result<core::AgentRequest> decode_agent_fields(const Request& request, const std::string& id, bool may_set_priority) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    core::AgentRequest agent;
    agent.caller = caller_of(request);
    agent.id = id;
    if (may_set_priority) agent.priority = fields.signed_whole("priority", priority_max);
    agent.epoch = epoch_field(fields);
    fields.check(core::check_holder(id));
    if (auto error = fields.error()) return *error;
    return agent;
}

}  // namespace

Result<core::PolicyChange> decode_policy_change(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    core::PolicyChange change;
    change.ttl_min = duration_field(fields, "ttl_min_ms");
    change.ttl_max = duration_field(fields, "ttl_max_ms");
    change.ttl_default = duration_field(fields, "ttl_default_ms");
    change.wait_max = duration_field(fields, "wait_max_ms");
    change.reject_above_max = reject_above_max_field(fields);
    change.name_pattern = name_pattern_field(fields);
    change.approval = approval_field(fields);
    change.hold_max = quota_field(fields, "hold_max_ms");
    change.idle_max = quota_field(fields, "idle_max_ms");
    change.leases_per_holder_max = fields.whole_or_null("leases_per_holder_max", 1, count_max);
    if (auto error = fields.error()) return *error;
    return change;
}

Result<DecodedBan> decode_ban(const Request& request, const std::string& holder) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    fields.check(core::check_holder(holder));
    if (core::is_malformed_address(holder))
        fields.refuse(
            "this looks like an IP address or a prefix and is none; write 10.0.0.7, 10.0.0.0/8 or 2001:db8::/32");
    DecodedBan ban{holder, text_field(fields, "reason", limits::reason_bytes)};
    if (auto error = fields.error()) return *error;
    return ban;
}

Result<core::AgentRequest> decode_agent(const Request& request, const std::string& id) {
    return decode_agent_fields(request, id, true);
}

Result<core::AgentRequest> decode_restart(const Request& request, const std::string& id) {
    return decode_agent_fields(request, id, false);
}

Result<void> decode_holder_only(const Request& request, const std::string& holder) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing;
    return core::check_holder(holder);
}

Result<DecodedPage> decode_page(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedPage page;
    page.after = query->text("after", limits::holder_bytes).value_or("");
    page.limit = query->whole("limit", 1, 1000).value_or(1000);
    if (auto error = query->error()) return *error;
    return page;
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

Result<void> decode_nothing(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    if (auto error = query->error()) return *error;
    return {};
}

}  // namespace holdfast::http
