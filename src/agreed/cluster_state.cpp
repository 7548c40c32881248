#include "agreed/cluster_state.h"

#include <algorithm>
#include <fmt/format.h>

#include "agreed/auth_codec.h"
#include "auth/limits.h"
#include "consensus/replicated_log.h"
#include "lease/limits.h"
#include "log.pb.h"

namespace holdfast::agreed {
namespace {

// ---- the messages of log.proto ----

// Decoding fails (false or nullopt) if a rule is violated.

void encode(const lease::Policy& policy, pb::PolicySettings& out) {
    out.set_ttl_min_ns(policy.ttl_min.count());
    out.set_ttl_max_ns(policy.ttl_max.count());
    out.set_ttl_default_ns(policy.ttl_default.count());
    out.set_reject_above_max(policy.reject_above_max);
    out.set_wait_max_ns(policy.wait_max.count());
    out.set_name_pattern(policy.name_pattern.text());
    out.set_hold_max_ns(policy.hold_max.count());
    out.set_idle_max_ns(policy.idle_max.count());
    out.set_leases_per_holder_max(policy.leases_per_holder_max);
    out.set_manual_approval(policy.approval == lease::Approval::manual);
}

bool decode(const pb::PolicySettings& in, lease::Policy& policy) {
    if (in.has_ttl_min_ns()) policy.ttl_min = Duration{in.ttl_min_ns()};
    if (in.has_ttl_max_ns()) policy.ttl_max = Duration{in.ttl_max_ns()};
    if (in.has_ttl_default_ns()) policy.ttl_default = Duration{in.ttl_default_ns()};
    if (in.has_reject_above_max()) policy.reject_above_max = in.reject_above_max();
    if (in.has_wait_max_ns()) policy.wait_max = Duration{in.wait_max_ns()};
    if (in.has_hold_max_ns()) policy.hold_max = Duration{in.hold_max_ns()};
    if (in.has_idle_max_ns()) policy.idle_max = Duration{in.idle_max_ns()};
    if (in.has_leases_per_holder_max()) policy.leases_per_holder_max = in.leases_per_holder_max();
    if (in.has_manual_approval())
        policy.approval = in.manual_approval() ? lease::Approval::manual : lease::Approval::automatic;
    if (!in.has_name_pattern()) return true;
    auto pattern = lease::NamePattern::compile(in.name_pattern());
    if (!pattern) return false;
    policy.name_pattern = std::move(*pattern);
    return true;
}

void encode(const std::string& name, const lease::PolicyOverrides& own, pb::NamespaceSettings& out) {
    out.set_name(name);
    pb::PolicySettings& settings = *out.mutable_settings();
    if (own.ttl_min) settings.set_ttl_min_ns(own.ttl_min->count());
    if (own.ttl_max) settings.set_ttl_max_ns(own.ttl_max->count());
    if (own.ttl_default) settings.set_ttl_default_ns(own.ttl_default->count());
    if (own.reject_above_max) settings.set_reject_above_max(*own.reject_above_max);
    if (own.wait_max) settings.set_wait_max_ns(own.wait_max->count());
    if (own.name_pattern) settings.set_name_pattern(own.name_pattern->text());
    if (own.hold_max) settings.set_hold_max_ns(own.hold_max->count());
    if (own.idle_max) settings.set_idle_max_ns(own.idle_max->count());
    if (own.leases_per_holder_max) settings.set_leases_per_holder_max(*own.leases_per_holder_max);
}

/// Replaces what the namespace sets.
bool decode(const pb::NamespaceSettings& in, lease::Policy& policy) {
    const pb::PolicySettings& settings = in.settings();
    lease::PolicyOverrides own;
    if (settings.has_ttl_min_ns()) own.ttl_min = Duration{settings.ttl_min_ns()};
    if (settings.has_ttl_max_ns()) own.ttl_max = Duration{settings.ttl_max_ns()};
    if (settings.has_ttl_default_ns()) own.ttl_default = Duration{settings.ttl_default_ns()};
    if (settings.has_reject_above_max()) own.reject_above_max = settings.reject_above_max();
    if (settings.has_wait_max_ns()) own.wait_max = Duration{settings.wait_max_ns()};
    if (settings.has_hold_max_ns()) own.hold_max = Duration{settings.hold_max_ns()};
    if (settings.has_idle_max_ns()) own.idle_max = Duration{settings.idle_max_ns()};
    if (settings.has_leases_per_holder_max()) own.leases_per_holder_max = settings.leases_per_holder_max();
    if (settings.has_name_pattern()) {
        auto pattern = lease::NamePattern::compile(settings.name_pattern());
        if (!pattern) return false;
        own.name_pattern = std::move(*pattern);
    }
    policy.namespaces.erase(in.name());
    if (!own.empty()) policy.namespaces.emplace(in.name(), std::move(own));
    return true;
}

std::string encoded(const std::string& name, const lease::PolicyOverrides& own) {
    pb::NamespaceSettings out;
    encode(name, own, out);
    return out.SerializeAsString();
}

void encode(const std::string& holder, const lease::Ban& ban, pb::Ban& out) {
    out.set_holder(holder);
    out.set_reason(ban.reason);
    out.set_since_wall_ms(ban.since_wall_ms);
}

void decode(const pb::Ban& in, lease::Policy& policy) {
    policy.bans.insert_or_assign(in.holder(), lease::Ban{in.reason(), in.since_wall_ms()});
}

void encode(const lease::NameRuleKey& about, const lease::NameRule& rule, pb::NameRule& out) {
    out.set_name(about.name);
    out.set_identity(about.identity);
    out.set_reserved(rule.kind == lease::NameRule::Kind::reserved);
    out.set_reason(rule.reason);
    out.set_since_wall_ms(rule.since_wall_ms);
}

void decode(const pb::NameRule& in, lease::Policy& policy) {
    const auto kind = in.reserved() ? lease::NameRule::Kind::reserved : lease::NameRule::Kind::denied;
    policy.name_rules.insert_or_assign({in.name(), in.identity()},
                                       lease::NameRule{kind, in.reason(), in.since_wall_ms()});
}

void encode(const store::SavedAgent& agent, pb::Agent& out) {
    out.set_id(agent.id);
    out.set_priority(agent.priority);
    out.set_epoch(agent.epoch);
    out.set_restarting(agent.restarting);
}

std::optional<store::SavedAgent> decode(const pb::Agent& in) {
    const bool right = !in.id().empty() && in.id().size() <= lease::limits::holder_bytes && in.epoch() >= 1 &&
                       in.epoch() <= lease::limits::epoch_ceiling;
    if (!right) return std::nullopt;
    return store::SavedAgent{in.id(), in.priority(), in.epoch(), in.restarting()};
}

void encode(const store::AuditEntry& entry, pb::AuditEntry& out) {
    out.set_who(entry.who);
    out.set_at_wall_ms(entry.at_wall_ms);
    out.set_what(entry.what);
}

store::AuditEntry decode(const pb::AuditEntry& in) {
    return {in.who(), in.at_wall_ms(), in.what()};
}

using pb::Command;

bool same(const lease::Ban& one, const lease::Ban& other) {
    return one.reason == other.reason && one.since_wall_ms == other.since_wall_ms;
}

/// The namespaces whose settings differ.
std::vector<pb::NamespaceSettings> changed_namespaces(const PolicyCommand& change) {
    const lease::PolicyOverrides none;
    std::vector<pb::NamespaceSettings> changed;
    const auto own = [&](const lease::Policy& policy, const std::string& name) -> const lease::PolicyOverrides& {
        const auto found = policy.namespaces.find(name);
        return found != policy.namespaces.end() ? found->second : none;
    };
    auto names = change.before.namespaces;
    names.insert(change.after.namespaces.begin(), change.after.namespaces.end());
    for (const auto& [name, either] : names)
        if (encoded(name, own(change.before, name)) != encoded(name, own(change.after, name)))
            encode(name, own(change.after, name), changed.emplace_back());
    return changed;
}

void encode_change(const PolicyCommand& change, Command& out) {
    const auto namespaces = changed_namespaces(change);
    pb::PolicyChange& policy = namespaces.empty() ? *out.mutable_policy() : *out.mutable_policy_of_namespaces();
    policy.mutable_namespaces()->Add(namespaces.begin(), namespaces.end());
    policy.set_base_version(change.base_version);
    pb::PolicySettings before;
    pb::PolicySettings after;
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
        if (!change.after.name_rules.contains(about)) encode(about, lease::NameRule{}, *policy.add_lifted_name_rules());
}

void encode_change(const store::SavedAgent& agent, Command& out) {
    encode(agent, *out.mutable_agent());
}

void encode_change(const store::ForgottenAgent& change, Command& out) {
    out.mutable_forgotten_agent()->set_id(change.id);
}

void encode_change(const AuthCommand& command, Command& out) {
    out.mutable_auth()->set_base_version(command.base_version);
    encode_auth_change(command.change, *out.mutable_auth());
}

void encode_change(const MembersCommand& change, Command& out) {
    pb::Members& members = *out.mutable_members();
    for (const std::string& member : change.members)
        members.add_members(member);
}

void encode_change(const store::OnlyAudited&, Command& out) {
    out.mutable_audit_only();
}

// ---- sizes and texts ----

// With the overhead of encoding, a snapshot fits into the log's limit.
static_assert(ClusterState::max_state_bytes + auth::limits::state_bytes + ClusterState::max_audit_bytes <
              consensus::ReplicatedLog::max_snapshot_bytes);

/// The size in a snapshot, rounded up a little.
std::size_t bytes_of(const store::SavedAgent& agent) {
    return agent.id.size() + 32;
}

std::size_t bytes_of(const std::string& holder, const lease::Ban& ban) {
    return holder.size() + ban.reason.size() + 24;
}

std::size_t bytes_of(const lease::Policy& policy) {
    std::size_t bytes = policy.name_pattern.text().size();
    for (const auto& [holder, ban] : policy.bans)
        bytes += bytes_of(holder, ban);
    for (const std::string& identity : policy.approved)
        bytes += identity.size() + 4;
    for (const auto& [about, rule] : policy.name_rules)
        bytes += about.name.size() + about.identity.size() + rule.reason.size() + 32;
    for (const auto& [name, own] : policy.namespaces)
        bytes += name.size() + (own.name_pattern ? own.name_pattern->text().size() : 0) + 128;
    return bytes;
}

std::size_t bytes_of(const store::AuditEntry& entry) {
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

std::string encode_command(const SubmittedCommand& header, const ClusterCommand& command) {
    Command out;
    out.set_id(header.id);
    if (header.audit) encode(*header.audit, *out.mutable_audit());
    std::visit([&](const auto& change) { encode_change(change, out); }, command);
    return out.SerializeAsString();
}

void ClusterState::apply(consensus::LogIndex index, const std::string& entry) {
    pb::Command in;
    const auto result = in.ParseFromString(entry) ? apply_command(in) : std::nullopt;
    if (!result) {
        trouble_ =
            Error{Code::state_too_new,
                  fmt::format("entry {} of the log is not understood by this version; start a newer one", index)};
        if (listener_.command_done) listener_.command_done(in.id(), CommandOutcome::refused);
        return;
    }
    if (*result == CommandOutcome::applied && in.has_audit()) add_audit(decode(in.audit()));
    if (listener_.command_done) listener_.command_done(in.id(), *result);
}

std::optional<CommandResult> ClusterState::apply_command(const pb::Command& in) {
    if (in.has_policy()) return change_policy(in.policy());
    if (in.has_policy_of_namespaces()) return change_policy(in.policy_of_namespaces());
    if (in.has_agent()) {
        auto agent = decode(in.agent());
        return agent ? save_agent(std::move(*agent)) : CommandOutcome::refused;
    }
    if (in.has_forgotten_agent()) return forget_agent(in.forgotten_agent().id());
    if (in.has_auth()) return change_auth(in.auth());
    if (in.has_members()) return set_members({in.members().members().begin(), in.members().members().end()});
    if (in.has_audit_only()) return CommandOutcome::applied;
    return std::nullopt;
}

CommandOutcome ClusterState::change_policy(const pb::PolicyChange& change) {
    if (change.base_version() != policy_version_) return CommandOutcome::conflict;
    lease::Policy changed = policy_;
    if (change.has_settings() && !decode(change.settings(), changed)) return CommandOutcome::refused;
    for (const pb::NamespaceSettings& settings : change.namespaces())
        if (!decode(settings, changed)) return CommandOutcome::refused;
    for (const std::string& holder : change.unbanned())
        changed.bans.erase(holder);
    for (const pb::Ban& ban : change.banned())
        decode(ban, changed);
    for (const std::string& identity : change.unapproved())
        changed.approved.erase(identity);
    changed.approved.insert(change.approved().begin(), change.approved().end());
    for (const pb::NameRule& lifted : change.lifted_name_rules())
        changed.name_rules.erase({lifted.name(), lifted.identity()});
    for (const pb::NameRule& rule : change.name_rules())
        decode(rule, changed);
    const std::size_t bytes = bytes_of(changed);
    if (!changed.check() || bytes + agent_bytes_ > max_state_bytes) return CommandOutcome::refused;
    policy_ = std::move(changed);
    policy_bytes_ = bytes;
    ++policy_version_;
    if (listener_.policy_changed) listener_.policy_changed(policy_);
    return CommandOutcome::applied;
}

std::optional<CommandResult> ClusterState::change_auth(const pb::AuthChange& in) {
    const auto change = decode_auth_change(in);
    if (!change) return std::nullopt;
    if (in.base_version() != auth_.version()) return CommandOutcome::conflict;
    if (auto applied = auth_.apply(*change); !applied) return applied.error();
    if (listener_.auth_changed) listener_.auth_changed(auth_);
    return CommandOutcome::applied;
}

CommandOutcome ClusterState::save_agent(store::SavedAgent agent) {
    const auto known = agents_.find(agent.id);
    if (known != agents_.end() && agent.epoch < known->second.epoch) return CommandOutcome::conflict;
    if (known != agents_.end() && agent.epoch == known->second.epoch) agent.restarting |= known->second.restarting;
    if (known == agents_.end()) {
        const bool full =
            agents_.size() >= lease::limits::agents || policy_bytes_ + agent_bytes_ + bytes_of(agent) > max_state_bytes;
        if (full) return CommandOutcome::refused;
        agent_bytes_ += bytes_of(agent);
    }
    const store::SavedAgent& saved = agents_.insert_or_assign(agent.id, agent).first->second;
    if (listener_.agent_changed) listener_.agent_changed(saved, false);
    return CommandOutcome::applied;
}

CommandOutcome ClusterState::forget_agent(const std::string& id) {
    const auto known = agents_.find(id);
    if (known == agents_.end()) return CommandOutcome::applied;
    const store::SavedAgent agent = std::move(known->second);
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
    return Error{
        Code::members_differ,
        fmt::format("this cluster was founded by {}, and this node was given {}; give every node the list it was "
                    "founded with",
                    joined(members_), joined(members))};
}

void ClusterState::add_audit(store::AuditEntry entry) {
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

store::AuditPage ClusterState::audit(std::uint64_t after, std::size_t limit) const {
    store::AuditPage page;
    const std::uint64_t gone = audit_count_ - audit_.size();
    for (std::uint64_t number = std::max(after, gone) + 1; number <= audit_count_; ++number) {
        page.more = page.lines.size() == limit;
        if (page.more) break;
        page.lines.push_back({number, audit_[number - gone - 1]});
    }
    return page;
}

std::string ClusterState::snapshot() const {
    pb::State out;
    out.set_policy_version(policy_version_);
    encode(policy_, *out.mutable_settings());
    for (const auto& [holder, ban] : policy_.bans)
        encode(holder, ban, *out.add_bans());
    for (const std::string& identity : policy_.approved)
        out.add_approved(identity);
    for (const auto& [about, rule] : policy_.name_rules)
        encode(about, rule, *out.add_name_rules());
    for (const auto& [name, own] : policy_.namespaces)
        encode(name, own, *out.add_namespaces());
    for (const auto& [id, agent] : agents_)
        encode(agent, *out.add_agents());
    for (const std::string& member : members_)
        out.mutable_members()->add_members(member);
    for (const store::AuditEntry& entry : audit_)
        encode(entry, *out.add_audit());
    out.set_audit_count(audit_count_);
    if (auth_.version() > 0) encode_auth(auth_, *out.mutable_auth());
    return out.SerializeAsString();
}

Result<void> ClusterState::install(const std::string& snapshot) {
    const Error corrupt{Code::state_corrupt, "the snapshot of the log is damaged"};
    pb::State in;
    ClusterState fresh({});
    if (!in.ParseFromString(snapshot) || !decode(in.settings(), fresh.policy_)) return corrupt;
    for (const pb::Ban& ban : in.bans())
        decode(ban, fresh.policy_);
    fresh.policy_.approved = {in.approved().begin(), in.approved().end()};
    for (const pb::NameRule& rule : in.name_rules())
        decode(rule, fresh.policy_);
    for (const pb::NamespaceSettings& settings : in.namespaces())
        if (!decode(settings, fresh.policy_)) return corrupt;
    if (!fresh.policy_.check()) return corrupt;
    fresh.policy_bytes_ = bytes_of(fresh.policy_);
    for (const pb::Agent& one : in.agents()) {
        auto agent = decode(one);
        if (!agent || fresh.save_agent(std::move(*agent)) != CommandOutcome::applied) return corrupt;
    }
    auto auth = decode_auth(in.auth());
    if (!auth) return corrupt;
    fresh.auth_ = std::move(*auth);
    for (const pb::AuditEntry& entry : in.audit())
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

}  // namespace holdfast::agreed
