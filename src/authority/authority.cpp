#include "authority/authority.h"

#include <array>

#include "authority/authority_impl.h"
#include "base/assert.h"

namespace holdfast::authority {
namespace {

template <class Gathered, class Reply>
std::shared_ptr<Gathered> gather(std::vector<lease::LeaseName> names, Callback<Reply> reply) {
    auto gathering = std::make_shared<Gathered>();
    gathering->missing = names.size();
    gathering->reply = std::move(reply);
    gathering->answers.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        gathering->answers[i].name = std::move(names[i]);
    return gathering;
}

Refused refusal_in(const SingleRecordAnswer& answer) {
    return {*answer.refused, answer.detail, answer.retry_in};
}

decltype(RenewAnswer::result) renewal_in(const SingleRecordAnswer& answer) {
    if (answer.refused) return refusal_in(answer);
    RenewedLease renewed{{std::string(answer.resource), answer.lease, lease::timeline_of(answer.lease, answer.at)},
                         std::nullopt};
    if (answer.cut_from) renewed.ttl_cut = TtlCut{*answer.cut_from, answer.lease.ttl};
    return renewed;
}

}  // namespace

Authority::Authority(Parts parts) : impl_(std::make_unique<Impl>(*this, std::move(parts))) {}
Authority::~Authority() = default;

void Authority::use(store::Store& store) {
    impl_->store = &store;
    impl_->acquisitions.use(store);
}

void Authority::number_requests_from(std::uint64_t first) {
    impl_->acquisitions.number_from(first);
}

void Authority::advance(Instant now) {
    impl_->now = now;
    impl_->acquisitions.advance(now);
    impl_->settle_accounts();
}

Instant Authority::next_deadline() const {
    return impl_->acquisitions.next_deadline();
}

// ---- acquire ----

Authority::WaitTicket Authority::acquire(AcquireRequest request, Callback<AcquireAnswer> reply) {
    HOLDFAST_ASSERT(!request.intents.empty());
    const WaitTicket ticket = impl_->acquisitions.start(std::move(request), std::move(reply), impl_->now);
    impl_->settle_accounts();
    return ticket;
}

void Authority::cancel(WaitTicket ticket) {
    impl_->acquisitions.cancel(ticket, impl_->now);
    impl_->settle_accounts();
}

SingleRecord& Authority::single_record() {
    return impl_->single_record;
}

bool Authority::is_agent(std::string_view holder) const {
    return impl_->agents.find(holder) != nullptr;
}

// ---- renew and release ----

void Authority::Impl::renew_one(const std::shared_ptr<Renewing>& gathering, std::size_t i,
                                const std::shared_ptr<const RenewRequest>& request) {
    const lease::LeaseName& name = gathering->answers[i].name;
    single_record.step(
        {.resource = name.resource, .holder = request->holder, .node = request->caller.node},
        [request, i, token = name.token](RecordTransaction& at) {
            at.renew(token, request->ttl, at.holder(), request->leases[i].progress);
        },
        [gathering, i](const SingleRecordAnswer& answer) {
            gathering->answers[i].result = renewal_in(answer);
            gathering->arrived();
        });
}

void Authority::renew(RenewRequest request, Callback<std::vector<RenewAnswer>> reply) {
    if (request.leases.empty()) return reply({});
    std::vector<lease::LeaseName> names;
    names.reserve(request.leases.size());
    for (LeaseToRenew& lease : request.leases)
        names.push_back(std::move(lease.name));
    auto gathering = gather<Renewing>(std::move(names), std::move(reply));
    const std::size_t count = gathering->answers.size();
    if (const auto stale = impl_->agents.see(request.holder, request.epoch, impl_->now)) {
        for (RenewAnswer& answer : gathering->answers)
            answer.result = refused(*stale);
        return gathering->reply(std::move(gathering->answers));
    }
    const auto shared = std::make_shared<const RenewRequest>(std::move(request));
    for (std::size_t i = 0; i < count; ++i)
        impl_->renew_one(gathering, i, shared);
    impl_->settle_accounts();
}

namespace {

/// The number of the holder's leases that one heartbeat renews. The others need a further heartbeat that names them.
std::size_t renewed_at_once(const std::vector<lease::LeaseName>& names) {
    std::size_t bytes = 0, count = 0;
    for (const lease::LeaseName& name : names) {
        bytes += name.resource.size();
        if (count == lease::limits::leases_per_heartbeat || bytes > lease::limits::name_bytes_per_heartbeat) break;
        ++count;
    }
    return count;
}

}  // namespace

void Authority::renew_all(RenewRequest request, Callback<Answer<RenewAllAnswer>> reply) {
    if (const auto stale = impl_->agents.see(request.holder, request.epoch, impl_->now)) return reply(refused(*stale));
    const std::string holder = request.holder;
    impl_->store->leases_of(holder, store::Store::Which::active, lease::limits::leases_per_heartbeat + 1,
                            [this, asked = std::make_unique<RenewRequest>(std::move(request)),
                             reply = std::move(reply)](Result<std::vector<lease::LeaseName>> found) mutable {
                                if (!found) return reply(storage_failure(found.error()));
                                const std::size_t count = renewed_at_once(*found);
                                const bool more = found->size() > count;
                                found->resize(count);
                                for (lease::LeaseName& name : *found)
                                    asked->leases.push_back({std::move(name), asked->progress});
                                renew(std::move(*asked),
                                      [more, reply = std::move(reply)](std::vector<RenewAnswer> answers) mutable {
                                          reply(RenewAllAnswer{std::move(answers), more});
                                      });
                            });
}

void Authority::release(ReleaseRequest request, Callback<Answer<ReleaseAnswer>> reply) {
    if (const auto stale = impl_->agents.see(request.holder, request.epoch, impl_->now)) return reply(refused(*stale));
    impl_->single_record.step(
        {.resource = request.name.resource,
         .holder = request.holder,
         .extra = request.session,
         .acts_for = request.caller.acts_for},
        [token = request.name.token](RecordTransaction& at) { at.release(token); },
        [reply = std::move(reply)](const SingleRecordAnswer& answer) mutable {
            if (answer.refused) return reply(refusal_in(answer));
            reply(ReleaseAnswer{answer.has_lease, answer.state});
        });
    impl_->settle_accounts();
}

/// S1: while nothing is granted, a holder may reassert a lease that an earlier incarnation granted. No token above the
/// ceiling found at the start was ever issued.
void Authority::reassert(lease::Reassertion reassertion, Callback<Answer<HeldLease>> reply) {
    if (impl_->admission.stopping) return reply(refused(Code::stopping));
    if (lease::is_reserved(reassertion.resource)) return reply(refused(Code::reserved_namespace));
    const bool may_have_been_issued = reassertion.token > 0 && reassertion.token <= impl_->issued_before;
    if (!impl_->admission.recovering(impl_->now) || !may_have_been_issued) return reply(refused(Code::unknown_lease));
    const auto asked = std::make_shared<const lease::Reassertion>(std::move(reassertion));
    apply_rule(
        *impl_->store, asked->resource,
        [this, asked](lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
            auto verdict = lease::reassert(record, neighbours, *asked, impl_->policy(), now);
            if (const auto* rejected = std::get_if<lease::Rejected>(&verdict))
                return Ruling<Answer<HeldLease>>{refused(rejected->code)};
            const lease::Lease& lease = *std::get<lease::Renewed>(verdict).lease;
            return Ruling<Answer<HeldLease>>{HeldLease{asked->resource, lease, lease::timeline_of(lease, now)},
                                             store::Effect::changed};
        },
        [this, asked, reply = std::move(reply)](Result<Answer<HeldLease>> answer) mutable {
            if (!answer) return reply(storage_failure(answer.error()));
            if (const auto* held = std::get_if<HeldLease>(&*answer))
                impl_->events.publish_own(EventKind::granted, asked->resource, held->lease, impl_->now);
            reply(std::move(*answer));
        });
    impl_->settle_accounts();
}

// ---- verify and list ----

namespace {

/// Its approximate size in an answer.
std::size_t bytes_of(const VerifyAnswer& answer) {
    constexpr std::size_t fields = 150;
    const auto bytes_of_lease = [&](const lease::Lease& lease) {
        return fields + answer.name.resource.size() + lease.text_bytes();
    };
    std::size_t bytes = fields + answer.name.resource.size();
    for (const lease::Lease& lease : answer.verified.current)
        bytes += bytes_of_lease(lease);
    return bytes;
}

}  // namespace

void Verifying::take(std::size_t i, VerifyAnswer answer) {
    const std::size_t bytes = bytes_of(answer);
    if (bytes > bytes_left && answers.size() > 1) {
        failure = refused(Code::answer_too_large);
        return;
    }
    bytes_left -= std::min(bytes, bytes_left);
    answers[i] = std::move(answer);
}

void Authority::Impl::verify_one(const std::shared_ptr<Verifying>& verifying, std::size_t i) {
    if (verifying->failure) return verifying->arrived();
    const lease::LeaseName& name = verifying->answers[i].name;
    apply_rule(
        *store, name.resource,
        [&name](lease::Record& record, Instant at) {
            VerifyAnswer answer{name, lease::verify(record, name.token, at), {}, at};
            if (answer.verified.lease) answer.timeline = lease::timeline_of(*answer.verified.lease, at);
            return Ruling{std::move(answer)};
        },
        [verifying, i](Result<VerifyAnswer> answer) {
            if (answer)
                verifying->take(i, std::move(*answer));
            else
                verifying->failure = storage_failure(answer.error());
            verifying->arrived();
        });
}

void Authority::Impl::verify_names(std::vector<lease::LeaseName> names, std::size_t max_bytes,
                                   Callback<Answer<std::vector<VerifyAnswer>>> reply) {
    if (names.empty()) return reply(std::vector<VerifyAnswer>{});
    const auto verifying = gather<Verifying>(std::move(names), std::move(reply));
    verifying->bytes_left = max_bytes;
    const std::size_t count = verifying->answers.size();
    for (std::size_t i = 0; i < count; ++i)
        verify_one(verifying, i);
    settle_accounts();
}

void Authority::verify(std::vector<lease::LeaseName> names, Callback<Answer<std::vector<VerifyAnswer>>> reply) {
    impl_->verify_names(std::move(names), lease::limits::verified_bytes, std::move(reply));
}

void Authority::verify_all(std::string holder, std::optional<std::uint64_t> epoch,
                           Callback<Answer<std::vector<VerifyAnswer>>> reply) {
    if (const auto stale = impl_->agents.see(holder, epoch, impl_->now)) return reply(refused(*stale));
    impl_->store->leases_of(holder, store::Store::Which::active_or_reserved, lease::limits::leases_per_heartbeat,
                            [this, reply = std::move(reply)](Result<std::vector<lease::LeaseName>> found) mutable {
                                if (!found) return reply(storage_failure(found.error()));
                                impl_->verify_names(std::move(*found), lease::limits::verified_bytes_of_holder,
                                                    std::move(reply));
                            });
}

void Authority::list(const store::ListQuery& query, Callback<Answer<store::ListPage>> reply) {
    impl_->store->list(query, [reply = std::move(reply)](Result<store::ListPage> page) mutable {
        if (!page) return reply(storage_failure(page.error()));
        reply(std::move(*page));
    });
}

// ---- the rest ----

Events& Authority::events() {
    return impl_->events;
}
Instant Authority::now() const {
    return impl_->now;
}
std::size_t Authority::waiters() const {
    return impl_->acquisitions.waiting();
}
std::size_t Authority::active_leases() const {
    return impl_->store == nullptr ? 0 : impl_->store->active_leases();
}
lease::Token Authority::token_headroom() const {
    return impl_->tokens.headroom();
}

Duration Authority::recovering_for() const {
    return std::max(impl_->admission.recovering_until - impl_->now, Duration::zero());
}

void Authority::recover_until(Instant until, std::string why) {
    impl_->admission.recovering_until = std::max(impl_->admission.recovering_until, until);
    impl_->admission.recovering_why = std::move(why);
}
const std::string& Authority::recovering_why() const {
    return impl_->admission.recovering_why;
}

void Authority::set_memory_full(bool full) {
    impl_->admission.memory_full = full;
}
bool Authority::memory_full() const {
    return impl_->admission.memory_full;
}
std::uint64_t Authority::refused_for_memory() const {
    return impl_->admission.refused_for_memory;
}
std::size_t Authority::waiter_bytes() const {
    return impl_->acquisitions.waiter_bytes();
}

void Authority::stop() {
    impl_->admission.stopping = true;
    impl_->acquisitions.stop(impl_->now);
}
bool Authority::stopping() const {
    return impl_->admission.stopping;
}

void Authority::on_expiry_lateness(std::function<void(Duration)> observer) {
    impl_->on_lateness = std::move(observer);
}

void Authority::on_policy_changed(std::function<void()> observer) {
    impl_->book.on_changed(std::move(observer));
}

void Authority::on_expired(std::string_view resource, const lease::Lease& lease, Duration late) {
    impl_->events.publish(EventKind::expired, resource, lease, lease.expires_at);
    if (impl_->on_lateness) impl_->on_lateness(late);
}

void Authority::on_changed(std::string_view resource, const lease::Lease& lease, store::LeaseChange change) {
    static constexpr std::array kinds{EventKind::granted, EventKind::renewed, EventKind::released, EventKind::revoked};
    impl_->events.publish(kinds[static_cast<std::size_t>(change)], resource, lease, impl_->now);
}

void Authority::on_due(std::string_view, const std::vector<std::uint64_t>& waiters) {
    impl_->acquisitions.note_due(waiters);
}

}  // namespace holdfast::authority
