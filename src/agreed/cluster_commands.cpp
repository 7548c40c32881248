#include "agreed/cluster_codec.h"

namespace holdfast::core {
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
