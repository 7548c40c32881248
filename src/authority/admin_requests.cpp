#include "authority/authority_impl.h"

namespace holdfast::core {

void Authority::revoke(LeaseName name, Callback<Answer<Lease>> reply) {
    const auto revoked = std::make_shared<const LeaseName>(std::move(name));
    apply_rule(
        *impl_->store, revoked->resource,
        [revoked](Record& record, Instant now) {
            Ruling ruling{core::revoke(record, revoked->token, now)};
            if (std::holds_alternative<Lease>(ruling.verdict)) ruling.effect = Effect::freed;
            return ruling;
        },
        [this, revoked, reply = std::move(reply)](Result<std::variant<Lease, Rejected>> verdict) mutable {
            if (!verdict) return reply(storage_failure(verdict.error()));
            if (const auto* rejected = std::get_if<Rejected>(&*verdict)) return reply(refused(rejected->code));
            Lease& lease = std::get<Lease>(*verdict);
            impl_->events.publish(EventKind::revoked, revoked->resource, lease, impl_->now);
            reply(std::move(lease));
        });
    impl_->settle_accounts();
}

void Authority::bar(LeaseName name, Callback<Answer<HeldLease>> reply) {
    const auto barred = std::make_shared<const LeaseName>(std::move(name));
    apply_rule(
        *impl_->store, barred->resource,
        [barred](Record& record, Instant now) {
            auto verdict = core::bar(record, barred->token, now);
            if (const auto* rejected = std::get_if<Rejected>(&verdict))
                return Ruling<Answer<HeldLease>>{refused(rejected->code)};
            Lease& lease = std::get<Lease>(verdict);
            const Timeline timeline = timeline_of(lease, now);
            return Ruling<Answer<HeldLease>>{HeldLease{barred->resource, std::move(lease), timeline}, Effect::changed};
        },
        [reply = std::move(reply)](Result<Answer<HeldLease>> answer) mutable {
            if (!answer) return reply(storage_failure(answer.error()));
            reply(std::move(*answer));
        });
    impl_->settle_accounts();
}

const Policy& Authority::policy() const {
    return impl_->policy();
}

void Authority::change_policy(const PolicyChange& change, Callback<Answer<Policy>> reply) {
    impl_->book.change(
        [change](Policy& policy) -> Result<void> {
            policy.ttl_min = change.ttl_min.value_or(policy.ttl_min);
            policy.ttl_max = change.ttl_max.value_or(policy.ttl_max);
            policy.ttl_default = change.ttl_default.value_or(policy.ttl_default);
            policy.wait_max = change.wait_max.value_or(policy.wait_max);
            policy.hold_max = change.hold_max.value_or(policy.hold_max);
            policy.idle_max = change.idle_max.value_or(policy.idle_max);
            policy.leases_per_holder_max = change.leases_per_holder_max.value_or(policy.leases_per_holder_max);
            policy.reject_above_max = change.reject_above_max.value_or(policy.reject_above_max);
            if (!change.name_pattern) return {};
            auto pattern = NamePattern::compile(*change.name_pattern);
            if (!pattern) return pattern.error();
            policy.name_pattern = std::move(*pattern);
            return {};
        },
        std::move(reply));
}

void Authority::ban(std::string holder, Ban ban, Callback<Answer<Ban>> reply) {
    impl_->book.change(
        [holder = std::move(holder), ban](Policy& policy) -> Result<void> {
            policy.bans[holder] = ban;
            return {};
        },
        [ban, reply = std::move(reply)](Answer<Policy> changed) mutable {
            if (auto* refusal = std::get_if<Refused>(&changed)) return reply(std::move(*refusal));
            reply(std::move(ban));
        });
}

void Authority::unban(const std::string& holder, Callback<Answer<bool>> reply) {
    const auto was_banned = std::make_shared<bool>(false);
    impl_->book.change(
        [holder, was_banned](Policy& policy) -> Result<void> {
            *was_banned = policy.bans.erase(holder) > 0;
            return {};
        },
        [was_banned, reply = std::move(reply)](Answer<Policy> changed) mutable {
            if (auto* refusal = std::get_if<Refused>(&changed)) return reply(std::move(*refusal));
            reply(*was_banned);
        });
}

}  // namespace holdfast::core
