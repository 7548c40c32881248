#include <array>
#include <fmt/format.h>

#include "authority/authority_impl.h"
#include "base/text.h"
#include "lease/ip_prefix.h"
#include "lease/manifest.h"

namespace holdfast::authority {
namespace {

std::string text_of(const lease::LeaseName& name) {
    return fmt::format("{} (token {})", name.resource, name.token);
}

constexpr std::array<std::string_view, 9> setting_names{"ttl_min",          "ttl_max",  "ttl_default",
                                                        "reject_above_max", "wait_max", "name_pattern",
                                                        "hold_max",         "idle_max", "leases_per_holder_max"};

/// The text of a change for the audit.
std::string text_of(const PolicyChange& change) {
    const bool is_default = change.name_space == lease::default_namespace;
    std::string text = is_default ? "change policy:" : fmt::format("change policy of {}:", change.name_space);
    const auto add = [&](const char* setting, const std::string& value) {
        text += fmt::format(" {}={}", setting, value);
    };
    const auto add_duration = [&](const char* setting, const std::optional<Duration>& value) {
        if (value) add(setting, format_duration(*value));
    };
    add_duration("ttl_min", change.ttl_min);
    add_duration("ttl_max", change.ttl_max);
    add_duration("ttl_default", change.ttl_default);
    add_duration("wait_max", change.wait_max);
    add_duration("hold_max", change.hold_max);
    add_duration("idle_max", change.idle_max);
    if (change.reject_above_max) add("reject_above_max", *change.reject_above_max ? "true" : "false");
    if (change.leases_per_holder_max) add("leases_per_holder_max", std::to_string(*change.leases_per_holder_max));
    if (change.approval) add("approval", *change.approval == lease::Approval::manual ? "manual" : "auto");
    if (change.name_pattern) add("name_pattern", *change.name_pattern);
    for (const lease::PolicySetting setting : change.inherit)
        add("inherit", std::string(setting_names[static_cast<std::size_t>(setting)]));
    return text;
}

/// Changes the settings of the default namespace, or what another one sets itself.
template <class Settings>
Result<void> apply_change(const PolicyChange& change, Settings& settings) {
    if (change.ttl_min) settings.ttl_min = *change.ttl_min;
    if (change.ttl_max) settings.ttl_max = *change.ttl_max;
    if (change.ttl_default) settings.ttl_default = *change.ttl_default;
    if (change.wait_max) settings.wait_max = *change.wait_max;
    if (change.hold_max) settings.hold_max = *change.hold_max;
    if (change.idle_max) settings.idle_max = *change.idle_max;
    if (change.leases_per_holder_max) settings.leases_per_holder_max = *change.leases_per_holder_max;
    if (change.reject_above_max) settings.reject_above_max = *change.reject_above_max;
    if (!change.name_pattern) return {};
    auto pattern = lease::NamePattern::compile(*change.name_pattern);
    if (!pattern) return pattern.error();
    settings.name_pattern = std::move(*pattern);
    return {};
}

Result<void> apply_to_namespace(const PolicyChange& change, lease::Policy& policy) {
    if (change.approval && change.name_space != lease::services_namespace)
        return Error{Code::invalid_policy, "approval is about services; set it for ~services, or without a namespace"};
    policy.approval = change.approval.value_or(policy.approval);
    lease::PolicyOverrides& own = policy.namespaces[change.name_space];
    for (const lease::PolicySetting setting : change.inherit)
        own.unset(setting);
    auto applied = apply_change(change, own);
    if (own.empty()) policy.namespaces.erase(change.name_space);
    return applied;
}

Result<void> apply_to_policy(const PolicyChange& change, lease::Policy& policy) {
    if (change.name_space != lease::default_namespace) return apply_to_namespace(change, policy);
    if (!change.inherit.empty()) return Error{Code::invalid_policy, "the default namespace inherits from no other"};
    policy.approval = change.approval.value_or(policy.approval);
    return apply_change(change, policy);
}

}  // namespace

void Authority::revoke(lease::LeaseName name, Callback<Answer<lease::Lease>> reply, const Caller& by) {
    const lease::Owner owner = lease::owner_of(name.resource);
    if (owner != lease::Owner::nobody) return reply(refused_by(owner));
    const auto revoked = std::make_shared<const lease::LeaseName>(std::move(name));
    apply_rule(
        *impl_->store, revoked->resource,
        [revoked](lease::Record& record, Instant now) {
            Ruling ruling{lease::revoke(record, revoked->token, now)};
            if (std::holds_alternative<lease::Lease>(ruling.verdict)) ruling.effect = store::Effect::freed;
            return ruling;
        },
        [this, revoked, by,
         reply = std::move(reply)](Result<std::variant<lease::Lease, lease::Rejected>> verdict) mutable {
            if (!verdict) return reply(storage_failure(verdict.error()));
            if (const auto* rejected = std::get_if<lease::Rejected>(&*verdict)) return reply(refused(rejected->code));
            lease::Lease& lease = std::get<lease::Lease>(*verdict);
            impl_->events.publish_own(EventKind::revoked, revoked->resource, lease, impl_->now);
            impl_->audit(by, fmt::format("revoke {} of {}", text_of(*revoked), lease.holder));
            reply(std::move(lease));
        });
    impl_->settle_accounts();
}

void Authority::bar(lease::LeaseName name, Callback<Answer<HeldLease>> reply, const Caller& by) {
    // The publisher of a service would register the name again as soon as the lease has expired (D5).
    if (const lease::Owner owner = lease::owner_of(name.resource); owner == lease::Owner::directory)
        return reply(refused_by(owner));
    const auto barred = std::make_shared<const lease::LeaseName>(std::move(name));
    apply_rule(
        *impl_->store, barred->resource,
        [barred](lease::Record& record, Instant now) {
            auto verdict = lease::bar(record, barred->token, now);
            if (const auto* rejected = std::get_if<lease::Rejected>(&verdict))
                return Ruling<Answer<HeldLease>>{refused(rejected->code)};
            lease::Lease& lease = std::get<lease::Lease>(verdict);
            const lease::Timeline timeline = lease::timeline_of(lease, now);
            return Ruling<Answer<HeldLease>>{HeldLease{barred->resource, std::move(lease), timeline},
                                             store::Effect::changed};
        },
        [this, barred, by, reply = std::move(reply)](Result<Answer<HeldLease>> answer) mutable {
            if (!answer) return reply(storage_failure(answer.error()));
            if (const auto* held = std::get_if<HeldLease>(&*answer))
                impl_->audit(by, fmt::format("bar {} of {}", text_of(*barred), held->lease.holder));
            reply(std::move(*answer));
        });
    impl_->settle_accounts();
}

const lease::Policy& Authority::policy() const {
    return impl_->policy();
}

store::AuditPage Authority::audit(std::uint64_t after, std::size_t limit) const {
    return impl_->durable.audit(after, limit);
}

void Authority::take_policy(lease::Policy policy) {
    impl_->book.take(std::move(policy));
    impl_->settle_accounts();
}

void Authority::change_policy(const PolicyChange& change, Callback<Answer<lease::Policy>> reply, const Caller& by) {
    impl_->book.change(
        impl_->audited(by, text_of(change)),
        [change](lease::Policy& policy) { return apply_to_policy(change, policy); }, std::move(reply));
}

void Authority::ban(std::string holder, lease::Ban ban, Callback<Answer<lease::Ban>> reply, const Caller& by) {
    holder = lease::ban_name(std::move(holder));
    auto audit = impl_->audited(by, fmt::format("ban {}{}", holder, ban.reason.empty() ? "" : ": " + ban.reason));
    impl_->book.change(
        std::move(audit),
        [holder = std::move(holder), ban](lease::Policy& policy) -> Result<void> {
            policy.bans[holder] = ban;
            return {};
        },
        [ban, reply = std::move(reply)](const Answer<lease::Policy>& changed) mutable {
            if (const auto* refusal = std::get_if<Refused>(&changed)) return reply(*refusal);
            reply(std::move(ban));
        });
}

void Authority::unban(const std::string& banned, Callback<Answer<bool>> reply, const Caller& by) {
    const std::string holder = lease::ban_name(banned);
    const auto was_banned = std::make_shared<bool>(false);
    impl_->book.change(
        impl_->audited(by, "unban " + holder),
        [holder, was_banned](lease::Policy& policy) -> Result<void> {
            *was_banned = policy.bans.erase(holder) > 0;
            return {};
        },
        [was_banned, reply = std::move(reply)](const Answer<lease::Policy>& changed) mutable {
            if (const auto* refusal = std::get_if<Refused>(&changed)) return reply(*refusal);
            reply(*was_banned);
        });
}

void Authority::approve(std::string identity, Callback<Answer<bool>> reply, const Caller& by) {
    const auto is_new = std::make_shared<bool>(false);
    auto audit = impl_->audited(by, "approve " + identity);
    impl_->book.change(
        std::move(audit),
        [identity = std::move(identity), is_new](lease::Policy& policy) -> Result<void> {
            *is_new = policy.approved.insert(identity).second;
            return {};
        },
        [is_new, reply = std::move(reply)](const Answer<lease::Policy>& changed) mutable {
            if (const auto* refusal = std::get_if<Refused>(&changed)) return reply(*refusal);
            reply(*is_new);
        });
}

void Authority::deny(std::string identity, lease::Ban ban, Callback<Answer<lease::Ban>> reply, const Caller& by) {
    auto audit = impl_->audited(by, "deny " + identity);
    impl_->book.change(
        std::move(audit),
        [identity = std::move(identity), ban](lease::Policy& policy) -> Result<void> {
            policy.approved.erase(identity);
            policy.bans[identity] = ban;
            return {};
        },
        [ban, reply = std::move(reply)](const Answer<lease::Policy>& changed) mutable {
            if (const auto* refusal = std::get_if<Refused>(&changed)) return reply(*refusal);
            reply(std::move(ban));
        });
}

void Authority::put_name_rule(lease::NameRuleKey about, lease::NameRule rule, Callback<Answer<lease::NameRule>> reply,
                              const Caller& by) {
    const bool reserved = rule.kind == lease::NameRule::Kind::reserved;
    const std::string whom = about.identity.empty() ? "everybody" : about.identity;
    auto audit =
        impl_->audited(by, fmt::format("{} the service name {} {} {}{}{}", reserved ? "reserve" : "deny", about.name,
                                       reserved ? "for" : "to", whom, rule.reason.empty() ? "" : ": ", rule.reason));
    impl_->book.change(
        std::move(audit),
        [about = std::move(about), rule](lease::Policy& policy) -> Result<void> {
            policy.name_rules.insert_or_assign(about, rule);
            return {};
        },
        [rule, reply = std::move(reply)](const Answer<lease::Policy>& changed) mutable {
            if (const auto* refusal = std::get_if<Refused>(&changed)) return reply(*refusal);
            reply(std::move(rule));
        });
}

void Authority::lift_name_rules(lease::NameRuleKey about, Callback<Answer<std::size_t>> reply, const Caller& by) {
    const auto lifted = std::make_shared<std::size_t>(0);
    auto audit = impl_->audited(by, fmt::format("allow the service name {}{}", about.name,
                                                about.identity.empty() ? "" : " to " + about.identity));
    impl_->book.change(
        std::move(audit),
        [about = std::move(about), lifted](lease::Policy& policy) -> Result<void> {
            *lifted = std::erase_if(policy.name_rules, [&](const auto& one) {
                return one.first.name == about.name && (about.identity.empty() || one.first.identity == about.identity);
            });
            return {};
        },
        [lifted, reply = std::move(reply)](const Answer<lease::Policy>& changed) mutable {
            if (const auto* refusal = std::get_if<Refused>(&changed)) return reply(*refusal);
            reply(*lifted);
        });
}

}  // namespace holdfast::authority
