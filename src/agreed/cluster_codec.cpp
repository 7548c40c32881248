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

namespace {

using log::pb::Command;

bool same(const Ban& one, const Ban& other) {
    return one.reason == other.reason && one.since_wall_ms == other.since_wall_ms;
}

void encode_change(const PolicyCommand& change, Command& out) {
    log::pb::PolicyChange& policy = *out.mutable_policy();
    policy.set_base_version(change.base_version);
    log::pb::PolicySettings before;
    log::pb::PolicySettings after;
    encode(change.before, before);
    encode(change.after, after);
    if (before.SerializeAsString() != after.SerializeAsString()) *policy.mutable_settings() = after;
    for (const auto& [holder, ban] : change.after.bans) {
        const auto had = change.before.bans.find(holder);
        if (had == change.before.bans.end() || !same(had->second, ban)) encode(holder, ban, *policy.add_banned());
    }
    for (const auto& [holder, ban] : change.before.bans)
        if (!change.after.bans.contains(holder)) policy.add_unbanned(holder);
    for (const std::string& identity : change.after.approved)
        if (!change.before.approved.contains(identity)) policy.add_approved(identity);
    for (const std::string& identity : change.before.approved)
        if (!change.after.approved.contains(identity)) policy.add_unapproved(identity);
    for (const auto& [about, rule] : change.after.name_rules) {
        const auto had = change.before.name_rules.find(about);
        if (had == change.before.name_rules.end() || had->second != rule) encode(about, rule, *policy.add_name_rules());
    }
    for (const auto& [about, rule] : change.before.name_rules)
        if (!change.after.name_rules.contains(about)) encode(about, NameRule{}, *policy.add_lifted_name_rules());
}

void encode_change(const AgentCommand& change, Command& out) {
    encode(change.agent, *out.mutable_agent());
}

void encode_change(const ForgetAgentCommand& change, Command& out) {
    out.mutable_forgotten_agent()->set_id(change.id);
}

void encode_change(const MembersCommand& change, Command& out) {
    log::pb::Members& members = *out.mutable_members();
    for (const std::string& member : change.members)
        members.add_members(member);
}

void encode_change(const AuditCommand&, Command& out) {
    out.mutable_audit_only();
}

}  // namespace

std::string encode_command(const SubmittedCommand& header, const ClusterCommand& command) {
    Command out;
    out.set_id(header.id);
    if (header.audit) encode(*header.audit, *out.mutable_audit());
    std::visit([&](const auto& change) { encode_change(change, out); }, command);
    return out.SerializeAsString();
}

}  // namespace holdfast::core
