#include "lease/rules.h"

#include "authority/authority_impl.h"

namespace holdfast::core {

/// S1: while nothing is granted, a holder may reassert a lease that an earlier incarnation granted. No token above the
/// ceiling found at the start was ever issued.
void Authority::reassert(Reassertion reassertion, Callback<Answer<HeldLease>> reply) {
    if (impl_->stopping) return reply(refused(Code::stopping));
    if (is_reserved(reassertion.resource)) return reply(refused(Code::reserved_namespace));
    const bool may_have_been_issued = reassertion.token > 0 && reassertion.token <= impl_->issued_before;
    if (impl_->now >= impl_->recovering_until || !may_have_been_issued) return reply(refused(Code::unknown_lease));
    const auto asked = std::make_shared<const Reassertion>(std::move(reassertion));
    apply_rule(
        *impl_->store, asked->resource,
        [this, asked](Record& record, const Neighbours& neighbours, Instant now) {
            auto verdict = core::reassert(record, neighbours, *asked, impl_->policy(), now);
            if (const auto* rejected = std::get_if<Rejected>(&verdict))
                return Ruling<Answer<HeldLease>>{refused(rejected->code)};
            Lease& lease = std::get<Renewed>(verdict).lease;
            const Timeline timeline = timeline_of(lease, now);
            return Ruling<Answer<HeldLease>>{HeldLease{asked->resource, std::move(lease), timeline}, Effect::changed};
        },
        [this, asked, reply = std::move(reply)](Result<Answer<HeldLease>> answer) mutable {
            if (!answer) return reply(storage_failure(answer.error()));
            if (const auto* held = std::get_if<HeldLease>(&*answer))
                impl_->events.publish_own(EventKind::granted, asked->resource, held->lease, impl_->now);
            reply(std::move(*answer));
        });
    impl_->settle_accounts();
}

}  // namespace holdfast::core
