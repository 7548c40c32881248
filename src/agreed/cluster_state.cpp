#include "agreed/cluster_state.h"

#include <algorithm>

#include "agreed/cluster_codec.h"
#include "consensus/replicated_log.h"
#include "lease/limits.h"

namespace holdfast::core {
namespace {

// With the overhead of encoding, a snapshot fits into the log's limit.
static_assert(ClusterState::max_state_bytes + ClusterState::max_audit_bytes < ReplicatedLog::max_snapshot_bytes);

/// The size in a snapshot, rounded up a little.
std::size_t bytes_of(const SavedAgent& agent) {
    return agent.id.size() + 32;
}

std::size_t bytes_of(const std::string& holder, const Ban& ban) {
    return holder.size() + ban.reason.size() + 24;
}

std::size_t bytes_of(const Policy& policy) {
    std::size_t bytes = policy.name_pattern.text().size();
    for (const auto& [holder, ban] : policy.bans)
        bytes += bytes_of(holder, ban);
    for (const std::string& identity : policy.approved)
        bytes += identity.size() + 4;
    for (const auto& [about, rule] : policy.name_rules)
        bytes += about.name.size() + about.identity.size() + rule.reason.size() + 32;
    return bytes;
}

std::size_t bytes_of(const AuditEntry& entry) {
    return entry.who.size() + entry.what.size() + 24;
}

/// Cuts between two UTF-8 characters.
void cut(std::string& text) {
    std::size_t end = std::min(text.size(), ClusterState::max_audit_text_bytes);
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    text.resize(end);
}

std::string joined(const std::vector<std::string>& members) {
    std::string text;
    for (const std::string& member : members)
        text += (text.empty() ? "" : ",") + member;
    return text;
}

}  // namespace

void ClusterState::apply(LogIndex index, const std::string& entry) {
    log::pb::Command in;
    if (!in.ParseFromString(entry) || in.what_case() == log::pb::Command::WHAT_NOT_SET) {
        trouble_ = Error{"state_too_new", "entry " + std::to_string(index) +
                                              " of the log is not understood by this version; start a newer one"};
        if (listener_.command_done) listener_.command_done(in.id(), CommandOutcome::refused);
        return;
    }
    const CommandOutcome outcome = apply_command(in);
    if (outcome == CommandOutcome::applied && in.has_audit()) add_audit(decode(in.audit()));
    if (listener_.command_done) listener_.command_done(in.id(), outcome);
}

CommandOutcome ClusterState::apply_command(const log::pb::Command& in) {
    if (in.has_policy()) return change_policy(in.policy());
    if (in.has_agent()) {
        auto agent = decode(in.agent());
        return agent ? save_agent(std::move(*agent)) : CommandOutcome::refused;
    }
    if (in.has_forgotten_agent()) return forget_agent(in.forgotten_agent().id());
    if (in.has_members()) return set_members({in.members().members().begin(), in.members().members().end()});
    return CommandOutcome::applied;
}

CommandOutcome ClusterState::change_policy(const log::pb::PolicyChange& change) {
    if (change.base_version() != policy_version_) return CommandOutcome::conflict;
    Policy changed = policy_;
    if (change.has_settings() && !decode(change.settings(), changed)) return CommandOutcome::refused;
    for (const std::string& holder : change.unbanned())
        changed.bans.erase(holder);
    for (const log::pb::Ban& ban : change.banned())
        decode(ban, changed);
    for (const std::string& identity : change.unapproved())
        changed.approved.erase(identity);
    changed.approved.insert(change.approved().begin(), change.approved().end());
    for (const log::pb::NameRule& lifted : change.lifted_name_rules())
        changed.name_rules.erase({lifted.name(), lifted.identity()});
    for (const log::pb::NameRule& rule : change.name_rules())
        decode(rule, changed);
    const std::size_t bytes = bytes_of(changed);
    if (!changed.check() || bytes + agent_bytes_ > max_state_bytes) return CommandOutcome::refused;
    policy_ = std::move(changed);
    policy_bytes_ = bytes;
    ++policy_version_;
    if (listener_.policy_changed) listener_.policy_changed(policy_);
    return CommandOutcome::applied;
}

CommandOutcome ClusterState::save_agent(SavedAgent agent) {
    const auto known = agents_.find(agent.id);
    if (known != agents_.end() && agent.epoch < known->second.epoch) return CommandOutcome::conflict;
    if (known != agents_.end() && agent.epoch == known->second.epoch) agent.restarting |= known->second.restarting;
    if (known == agents_.end()) {
        const bool full =
            agents_.size() >= limits::agents || policy_bytes_ + agent_bytes_ + bytes_of(agent) > max_state_bytes;
        if (full) return CommandOutcome::refused;
        agent_bytes_ += bytes_of(agent);
    }
    const SavedAgent& saved = agents_.insert_or_assign(agent.id, agent).first->second;
    if (listener_.agent_changed) listener_.agent_changed(saved, false);
    return CommandOutcome::applied;
}

CommandOutcome ClusterState::forget_agent(const std::string& id) {
    const auto known = agents_.find(id);
    if (known == agents_.end()) return CommandOutcome::applied;
    const SavedAgent agent = std::move(known->second);
    agents_.erase(known);
    agent_bytes_ -= bytes_of(agent);
    if (listener_.agent_changed) listener_.agent_changed(agent, true);
    return CommandOutcome::applied;
}

CommandOutcome ClusterState::set_members(std::vector<std::string> members) {
    if (members_.empty())
        members_ = std::move(members);
    else if (members_ != members)
        return CommandOutcome::conflict;
    return CommandOutcome::applied;
}

Result<void> ClusterState::check_members(const std::vector<std::string>& members) const {
    if (members_.empty() || members_ == members) return {};
    return Error{"members_differ", "this cluster was made of " + joined(members_) + ", and this node is told " +
                                       joined(members) + "; give every node the list it was made with"};
}

void ClusterState::add_audit(AuditEntry entry) {
    cut(entry.who);
    cut(entry.what);
    audit_bytes_ += bytes_of(entry);
    audit_.push_back(std::move(entry));
    ++audit_count_;
    while (audit_.size() > max_audit || audit_bytes_ > max_audit_bytes) {
        audit_bytes_ -= bytes_of(audit_.front());
        audit_.pop_front();
    }
}

AuditPage ClusterState::audit(std::uint64_t after, std::size_t limit) const {
    AuditPage page;
    const std::uint64_t gone = audit_count_ - audit_.size();
    for (std::uint64_t number = std::max(after, gone) + 1; number <= audit_count_; ++number) {
        page.more = page.lines.size() == limit;
        if (page.more) break;
        page.lines.push_back({number, audit_[number - gone - 1]});
    }
    return page;
}

std::string ClusterState::snapshot() const {
    log::pb::State out;
    out.set_policy_version(policy_version_);
    encode(policy_, *out.mutable_settings());
    for (const auto& [holder, ban] : policy_.bans)
        encode(holder, ban, *out.add_bans());
    for (const std::string& identity : policy_.approved)
        out.add_approved(identity);
    for (const auto& [about, rule] : policy_.name_rules)
        encode(about, rule, *out.add_name_rules());
    for (const auto& [id, agent] : agents_)
        encode(agent, *out.add_agents());
    for (const std::string& member : members_)
        out.mutable_members()->add_members(member);
    for (const AuditEntry& entry : audit_)
        encode(entry, *out.add_audit());
    out.set_audit_count(audit_count_);
    return out.SerializeAsString();
}

Result<void> ClusterState::install(const std::string& snapshot) {
    const Error corrupt{"state_corrupt", "the snapshot of the log is damaged"};
    log::pb::State in;
    ClusterState fresh({});
    if (!in.ParseFromString(snapshot) || !decode(in.settings(), fresh.policy_)) return corrupt;
    for (const log::pb::Ban& ban : in.bans())
        decode(ban, fresh.policy_);
    fresh.policy_.approved = {in.approved().begin(), in.approved().end()};
    for (const log::pb::NameRule& rule : in.name_rules())
        decode(rule, fresh.policy_);
    if (!fresh.policy_.check()) return corrupt;
    fresh.policy_bytes_ = bytes_of(fresh.policy_);
    for (const log::pb::Agent& one : in.agents()) {
        auto agent = decode(one);
        if (!agent || fresh.save_agent(std::move(*agent)) != CommandOutcome::applied) return corrupt;
    }
    for (const log::pb::AuditEntry& entry : in.audit())
        fresh.add_audit(decode(entry));
    if (in.audit_count() < fresh.audit_count_) return corrupt;
    fresh.audit_count_ = in.audit_count();
    fresh.members_ = {in.members().members().begin(), in.members().members().end()};
    fresh.policy_version_ = in.policy_version();
    fresh.listener_ = std::move(listener_);
    fresh.trouble_ = std::move(trouble_);
    *this = std::move(fresh);
    if (listener_.replaced) listener_.replaced();
    return {};
}

}  // namespace holdfast::core
