#include "authority/authority.h"

#include <algorithm>

#include "authority/acquisitions.h"
#include "authority/policy_book.h"
#include "authority/store_call.h"
#include "base/assert.h"

namespace holdfast::core {
namespace {

Refused refused(Code code) {
    return {code, {}, {}};
}

Refused storage_failure(const Error& error) {
    return {Code::storage_failed, error.message, {}};
}

constexpr Duration pause_after_failure = 1s;

std::optional<TtlCut> cut_from(std::optional<Duration> asked, const GrantedTtl& granted) {
    if (!granted.cut || !asked) return std::nullopt;
    return TtlCut{*asked, granted.ttl};
}

/// Answers that come one by one and are given together, in order.
template <class T, class Reply>
struct Gathering {
    std::vector<T> answers;
    std::size_t missing = 0;
    std::optional<Refused> failure;  // of the whole, where one part has no answer of its own for it
    Callback<Reply> reply;

    void arrived() {
        if (--missing > 0) return;
        if constexpr (std::is_constructible_v<Reply, Refused>)
            if (failure) return reply(std::move(*failure));
        reply(std::move(answers));
    }
};
using Renewing = Gathering<RenewAnswer, std::vector<RenewAnswer>>;
using Verifying = Gathering<VerifyAnswer, Answer<std::vector<VerifyAnswer>>>;

template <class Gathered, class Reply>
std::shared_ptr<Gathered> gather(std::vector<LeaseName> names, Callback<Reply> reply) {
    auto gathering = std::make_shared<Gathered>();
    gathering->missing = names.size();
    gathering->reply = std::move(reply);
    gathering->answers.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        gathering->answers[i].name = std::move(names[i]);
    return gathering;
}

}  // namespace

struct Authority::Impl {
    explicit Impl(Parts parts)
        : durable(parts.durable),
          book(parts.durable, std::move(parts.policy)),
          tokens(TokenSource::first_after(parts.tokens_issued, parts.wall_ms)),
          recovering_until(parts.recovering_until),
          acquisitions({tokens, events, [this](const AcquireRequest& request) { return admit(request); }}) {
        if (parts.tokens_reserved != 0) tokens.raise(parts.tokens_reserved);
    }

    const Policy& policy() const { return book.policy(); }

    /// Keeps the durable ceiling ahead of the tokens (G3). If the disk refuses, tokens run out in the end and requests
    /// are refused with `tokens_exhausted`; the disk is asked again, but not by every request.
    void keep_tokens_ahead() {
        if (now < ask_for_tokens_at) return;
        const auto ceiling = tokens.wants_ceiling();
        if (!ceiling) return;
        durable.reserve_tokens(*ceiling, [this, ceiling](const Result<void>& reserved) {
            if (reserved) return tokens.raise(*ceiling);
            tokens.raise_failed();
            ask_for_tokens_at = now + pause_after_failure;
        });
    }

    /// What every request ends with: waiters whose turn has come try, and tokens are kept ahead.
    void settle_accounts() {
        acquisitions.serve(now);
        keep_tokens_ahead();
    }

    std::variant<Acquisitions::Terms, Refused> admit(const AcquireRequest& request) const;
    using Renewal = decltype(RenewAnswer::result);
    void renew_one(const std::shared_ptr<Renewing>& gathering, std::size_t i,
                   const std::shared_ptr<const RenewRequest>& request);
    void verify_one(const std::shared_ptr<Verifying>& verifying, std::size_t i);

    Durable& durable;
    PolicyBook book;
    TokenSource tokens;
    Events events;
    Instant now;
    Instant ask_for_tokens_at;
    Instant recovering_until;
    Acquisitions acquisitions;
    Store* store = nullptr;
    bool stopping = false;
    std::function<void(Duration)> on_lateness;
};

Authority::Authority(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Authority::~Authority() = default;

void Authority::use(Store& store) {
    impl_->store = &store;
    impl_->acquisitions.use(store);
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

std::variant<Acquisitions::Terms, Refused> Authority::Impl::admit(const AcquireRequest& request) const {
    if (stopping) return refused(Code::stopping);
    for (const Intent& intent : request.intents)
        if (const auto code = bar_to(policy(), request.holder, intent.resource)) return refused(*code);
    const auto decision = decide_ttl(policy(), request.ttl);
    if (const auto* ttl_refused = std::get_if<RefusedTtl>(&decision)) return refused(ttl_refused->code);
    if (now < recovering_until) return Refused{Code::recovering, {}, recovering_until - now};
    const GrantedTtl& ttl = std::get<GrantedTtl>(decision);
    return Acquisitions::Terms{ttl.ttl, cut_from(request.ttl, ttl), std::min(request.wait, policy().wait_max)};
}

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

// ---- renew and release ----

void Authority::Impl::renew_one(const std::shared_ptr<Renewing>& gathering, std::size_t i,
                                const std::shared_ptr<const RenewRequest>& request) {
    const LeaseName& name = gathering->answers[i].name;
    apply_rule(
        *store, name.resource,
        [this, request, &name](Record& record, Instant at) {
            auto verdict =
                core::renew(record, {name.token, request->holder, name.resource, request->ttl}, policy(), at);
            if (const auto* rejected = std::get_if<Rejected>(&verdict)) return Ruling<Renewal>{refused(rejected->code)};
            Renewed& renewed = std::get<Renewed>(verdict);
            const Timeline timeline = timeline_of(renewed.lease, at);
            const auto cut = cut_from(request->ttl, {renewed.lease.ttl, renewed.ttl_cut});
            return Ruling<Renewal>{RenewedLease{{name.resource, std::move(renewed.lease), timeline}, cut},
                                   Effect::changed};
        },
        [this, gathering, i](Result<Renewal> result) {
            if (!result) result = Renewal{storage_failure(result.error())};
            if (const auto* renewed = std::get_if<RenewedLease>(&*result))
                events.publish(EventKind::renewed, renewed->held.resource, renewed->held.lease, now);
            gathering->answers[i].result = std::move(*result);
            gathering->arrived();
        });
}

void Authority::renew(RenewRequest request, Callback<std::vector<RenewAnswer>> reply) {
    if (request.leases.empty()) return reply({});
    auto gathering = gather<Renewing>(std::move(request.leases), std::move(reply));
    const auto shared = std::make_shared<const RenewRequest>(std::move(request));
    const std::size_t count = gathering->answers.size();
    for (std::size_t i = 0; i < count; ++i)
        impl_->renew_one(gathering, i, shared);
    impl_->settle_accounts();
}

void Authority::renew_all(RenewRequest request, Callback<Answer<std::vector<RenewAnswer>>> reply) {
    const std::string holder = request.holder;
    impl_->store->leases_of(
        holder, limits::leases_per_request,
        [this, asked = std::make_unique<RenewRequest>(std::move(request)),
         reply = std::move(reply)](Result<std::vector<LeaseName>> found) mutable {
            if (!found) return reply(storage_failure(found.error()));
            asked->leases = std::move(*found);
            renew(std::move(*asked),
                  [reply = std::move(reply)](std::vector<RenewAnswer> answers) mutable { reply(std::move(answers)); });
        });
}

void Authority::release(ReleaseRequest request, Callback<Answer<ReleaseAnswer>> reply) {
    const auto asked = std::make_shared<const ReleaseRequest>(std::move(request));
    apply_rule(
        *impl_->store, asked->name.resource,
        [asked](Record& record, Instant now) {
            Ruling ruling{core::release(record, asked->name.token, asked->holder, now)};
            if (std::holds_alternative<Released>(ruling.verdict)) ruling.effect = Effect::freed;
            return ruling;
        },
        [this, asked, reply = std::move(reply)](Result<ReleaseVerdict> verdict) mutable {
            if (!verdict) return reply(storage_failure(verdict.error()));
            if (const auto* rejected = std::get_if<Rejected>(&*verdict)) return reply(refused(rejected->code));
            if (const auto* ended = std::get_if<AlreadyEnded>(&*verdict))
                return reply(ReleaseAnswer{false, ended->state});
            const Lease& lease = std::get<Released>(*verdict).lease;
            impl_->events.publish(EventKind::released, asked->name.resource, lease, impl_->now);
            reply(ReleaseAnswer{true, LeaseState::released});
        });
    impl_->settle_accounts();
}

// ---- verify and list ----

void Authority::Impl::verify_one(const std::shared_ptr<Verifying>& verifying, std::size_t i) {
    const LeaseName& name = verifying->answers[i].name;
    apply_rule(
        *store, name.resource,
        [&name](Record& record, Instant at) {
            VerifyAnswer answer{name, core::verify(record, name.token, at), {}, at};
            if (answer.verified.lease) answer.timeline = timeline_of(*answer.verified.lease, at);
            return Ruling{std::move(answer)};
        },
        [verifying, i](Result<VerifyAnswer> answer) {
            if (answer)
                verifying->answers[i] = std::move(*answer);
            else
                verifying->failure = storage_failure(answer.error());
            verifying->arrived();
        });
}

void Authority::verify(std::vector<LeaseName> names, Callback<Answer<std::vector<VerifyAnswer>>> reply) {
    if (names.empty()) return reply(std::vector<VerifyAnswer>{});
    const auto verifying = gather<Verifying>(std::move(names), std::move(reply));
    const std::size_t count = verifying->answers.size();
    for (std::size_t i = 0; i < count; ++i)
        impl_->verify_one(verifying, i);
    impl_->settle_accounts();
}

void Authority::verify_all(std::string holder, Callback<Answer<std::vector<VerifyAnswer>>> reply) {
    impl_->store->leases_of(holder, limits::leases_per_request,
                            [this, reply = std::move(reply)](Result<std::vector<LeaseName>> found) mutable {
                                if (!found) return reply(storage_failure(found.error()));
                                verify(std::move(*found), std::move(reply));
                            });
}

void Authority::list(const ListQuery& query, Callback<Answer<ListPage>> reply) {
    impl_->store->list(query, [reply = std::move(reply)](Result<ListPage> page) mutable {
        if (!page) return reply(storage_failure(page.error()));
        reply(std::move(*page));
    });
}

// ---- administration ----

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
    return impl_->store->active_leases();
}
Duration Authority::recovering_for() const {
    return impl_->now < impl_->recovering_until ? impl_->recovering_until - impl_->now : Duration::zero();
}

void Authority::stop() {
    impl_->stopping = true;
    impl_->acquisitions.stop(impl_->now);
}
bool Authority::stopping() const {
    return impl_->stopping;
}

void Authority::on_expiry_lateness(std::function<void(Duration)> observer) {
    impl_->on_lateness = std::move(observer);
}

void Authority::on_expired(std::string_view resource, const Lease& lease, Duration late) {
    impl_->events.publish(EventKind::expired, resource, lease, lease.expires_at);
    if (impl_->on_lateness) impl_->on_lateness(late);
}

void Authority::on_due(std::string_view, const std::vector<std::uint64_t>& waiters) {
    impl_->acquisitions.note_due(waiters);
}

}  // namespace holdfast::core
