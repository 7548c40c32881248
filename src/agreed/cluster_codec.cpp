#include "agreed/cluster_codec.h"

#include "lease/limits.h"

namespace holdfast::core {

void encode(const Policy& policy, log::pb::PolicySettings& out) {
    out.set_ttl_min_ns(policy.ttl_min.count());
    out.set_ttl_max_ns(policy.ttl_max.count());
    out.set_ttl_default_ns(policy.ttl_default.count());
    out.set_reject_above_max(policy.reject_above_max);
    out.set_wait_max_ns(policy.wait_max.count());
    out.set_name_pattern(policy.name_pattern.text());
    out.set_hold_max_ns(policy.hold_max.count());
    out.set_idle_max_ns(policy.idle_max.count());
    out.set_leases_per_holder_max(policy.leases_per_holder_max);
    out.set_manual_approval(policy.approval == Approval::manual);
}

bool decode(const log::pb::PolicySettings& in, Policy& policy) {
    if (in.has_ttl_min_ns()) policy.ttl_min = Duration{in.ttl_min_ns()};
    if (in.has_ttl_max_ns()) policy.ttl_max = Duration{in.ttl_max_ns()};
    if (in.has_ttl_default_ns()) policy.ttl_default = Duration{in.ttl_default_ns()};
    if (in.has_reject_above_max()) policy.reject_above_max = in.reject_above_max();
    if (in.has_wait_max_ns()) policy.wait_max = Duration{in.wait_max_ns()};
    if (in.has_hold_max_ns()) policy.hold_max = Duration{in.hold_max_ns()};
    if (in.has_idle_max_ns()) policy.idle_max = Duration{in.idle_max_ns()};
    if (in.has_leases_per_holder_max()) policy.leases_per_holder_max = in.leases_per_holder_max();
    if (in.has_manual_approval()) policy.approval = in.manual_approval() ? Approval::manual : Approval::automatic;
    if (!in.has_name_pattern()) return true;
    auto pattern = NamePattern::compile(in.name_pattern());
    if (!pattern) return false;
    policy.name_pattern = std::move(*pattern);
    return true;
}

void encode(const std::string& holder, const Ban& ban, log::pb::Ban& out) {
    out.set_holder(holder);
    out.set_reason(ban.reason);
    out.set_since_wall_ms(ban.since_wall_ms);
}

void decode(const log::pb::Ban& in, Policy& policy) {
    policy.bans.insert_or_assign(in.holder(), Ban{in.reason(), in.since_wall_ms()});
}

void encode(const NameRuleKey& about, const NameRule& rule, log::pb::NameRule& out) {
    out.set_name(about.name);
    out.set_identity(about.identity);
    out.set_reserved(rule.kind == NameRule::Kind::reserved);
    out.set_reason(rule.reason);
    out.set_since_wall_ms(rule.since_wall_ms);
}

void decode(const log::pb::NameRule& in, Policy& policy) {
    const auto kind = in.reserved() ? NameRule::Kind::reserved : NameRule::Kind::denied;
    policy.name_rules.insert_or_assign({in.name(), in.identity()}, NameRule{kind, in.reason(), in.since_wall_ms()});
}

void encode(const SavedAgent& agent, log::pb::Agent& out) {
    out.set_id(agent.id);
    out.set_priority(agent.priority);
    out.set_epoch(agent.epoch);
    out.set_restarting(agent.restarting);
}

std::optional<SavedAgent> decode(const log::pb::Agent& in) {
    const bool right = !in.id().empty() && in.id().size() <= limits::holder_bytes && in.epoch() >= 1 &&
                       in.epoch() <= limits::epoch_ceiling;
    if (!right) return std::nullopt;
    return SavedAgent{in.id(), in.priority(), in.epoch(), in.restarting()};
}

void encode(const AuditEntry& entry, log::pb::AuditEntry& out) {
    out.set_who(entry.who);
    out.set_at_wall_ms(entry.at_wall_ms);
    out.set_what(entry.what);
}

AuditEntry decode(const log::pb::AuditEntry& in) {
    return {in.who(), in.at_wall_ms(), in.what()};
}

}  // namespace holdfast::core
