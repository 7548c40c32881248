#include "authority/single_record.h"

#include <algorithm>

#include "authority/authority_impl.h"
#include "base/assert.h"

namespace holdfast::authority {

/// One request, from the call to the answer. Objects are reused, with their memory.
struct SingleRecordCall final : store::Update {
    explicit SingleRecordCall(SingleRecord& owner) : single_record(owner) {}

    store::Effect apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) override;
    void done(Result<void> outcome) override;

    Authority::Impl& authority() const { return *single_record.authority_.impl_; }
    /// Anyone may register an agent under any name; a signed request must not depend on that.
    const Agent* agent() const { return signed_for ? nullptr : authority().agents.find(holder); }
    void forget();
    void note(EventKind kind, const lease::Lease& lease);

    struct Noted {
        EventKind kind;
        lease::Lease lease;
    };

    SingleRecord& single_record;
    std::string resource, holder, extra;
    SingleRecord::Rule rule;
    SingleRecord::Done tell;
    SingleRecordAnswer answer;
    store::Effect effect = store::Effect::none;
    std::vector<Noted> noted;  // events to publish: the first `events` entries
    std::size_t events = 0;
    std::vector<std::uint64_t> outranked;
    bool granted = false;
    bool replacing = false;
    bool over_quota = false;
    bool exact = false;
    bool signed_for = false;
    bool by_connection = false;
};

void SingleRecordCall::forget() {
    answer.refused.reset();
    answer.retry_in.reset();
    answer.detail.clear();
    answer.has_lease = false;
    answer.cut_from.reset();
    answer.state = lease::LeaseState::unknown;
    answer.standing = {};
    answer.number = 0;
    answer.text.clear();
    effect = store::Effect::none;
    events = 0;
    outranked.clear();
    granted = false;
}

void SingleRecordCall::note(EventKind kind, const lease::Lease& lease) {
    if (events == noted.size()) noted.emplace_back();
    Noted& entry = noted[events++];
    entry.kind = kind;
    entry.lease.token = lease.token;
    entry.lease.predicate = lease.predicate;
    entry.lease.holder = lease.holder;
    entry.lease.ttl = lease.ttl;
    entry.lease.expires_at = lease.expires_at;
    entry.lease.metadata = lease.metadata;
}

store::Effect SingleRecordCall::apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
    forget();
    answer.at = now;
    RecordTransaction desk(*this, record, neighbours, now);
    rule(desk);
    return effect;
}

void SingleRecordCall::done(Result<void> outcome) {
    Authority::Impl& impl = authority();
    if (outcome) {
        for (std::size_t i = 0; i < events; ++i)
            impl.events.publish_own(noted[i].kind, resource, noted[i].lease, impl.now);
        if (!outranked.empty()) impl.acquisitions.judge_again(outranked);
        if (granted && !signed_for) impl.agents.granted(holder);
    } else {
        forget();
        Refused failure = storage_failure(outcome.error());
        answer.refused = failure.code;
        answer.detail = std::move(failure.detail);
        answer.retry_in = failure.retry_in;
    }
    tell(answer);
    if (granted && !signed_for) impl.acquisitions.nudge(holder);
    rule = {};
    tell = {};
    single_record.free_.push_back(this);
}

// ---- the desk ----

std::string_view RecordTransaction::resource() const {
    return call_.resource;
}
std::string_view RecordTransaction::holder() const {
    return call_.holder;
}
std::string_view RecordTransaction::extra() const {
    return call_.extra;
}
const lease::Policy& RecordTransaction::policy() const {
    return call_.authority().policy();
}
SingleRecordAnswer& RecordTransaction::answer() {
    return call_.answer;
}

std::optional<Code> RecordTransaction::refuse(Code code) const {
    call_.answer.refused = code;
    if (code == Code::banned) call_.answer.detail = refused_under(policy(), code, call_.holder).detail;
    return code;
}

/// The detail names the service's own request for this.
std::optional<Code> RecordTransaction::refuse_for(lease::Owner of) const {
    call_.answer.detail = advice_of(of);
    return refuse(lease::refusal_of(of));
}

/// Only a signed request may change a resource that belongs to its publisher (D1).
bool RecordTransaction::forbidden() const {
    return !call_.signed_for && lease::is_reserved(call_.resource);
}

/// The service that owns the resource; nobody for a signed request.
lease::Owner RecordTransaction::owner() const {
    return call_.signed_for ? lease::Owner::nobody : lease::owner_of(call_.resource);
}

/// The checks of Admission::terms_for(), in the same order.
std::optional<Code> RecordTransaction::admitted() const {
    const Authority::Impl& impl = call_.authority();
    if (impl.admission.stopping) return Code::stopping;
    const Agent* agent = call_.agent();
    if (agent != nullptr && agent->restarting) return Code::agent_restarting;
    if (const lease::Owner of = owner(); of != lease::Owner::nobody && of != lease::Owner::leaders)
        return refuse_for(of);
    return lease::bar_to(impl.policy(), call_.holder, call_.resource);
}

std::optional<Code> RecordTransaction::acquire(lease::Predicate predicate, std::optional<Duration> ttl,
                                               std::string_view metadata) {
    Authority::Impl& impl = call_.authority();
    if (const auto code = admitted()) return refuse(*code);
    const auto decision =
        call_.exact && ttl ? lease::decide_exact_ttl(policy(), *ttl) : lease::decide_ttl(policy(), ttl);
    if (const auto* refused_ttl = std::get_if<lease::RefusedTtl>(&decision)) return refuse(refused_ttl->code);
    const lease::GrantedTtl& terms = std::get<lease::GrantedTtl>(decision);
    if (impl.admission.recovering(impl.now)) {
        call_.answer.retry_in = impl.admission.recovering_until - impl.now;
        call_.answer.detail = impl.admission.recovering_why;
        return refuse(Code::recovering);
    }
    if (impl.admission.memory_full) {
        ++impl.refused_for_memory;
        call_.answer.retry_in = retry_when_full;
        return refuse(Code::memory_full);
    }
    if (call_.over_quota) return refuse(Code::over_quota);
    const auto token = impl.tokens.take();
    if (!token) {
        call_.answer.retry_in = Duration{100ms};
        return refuse(Code::tokens_exhausted);
    }
    const Agent* agent = call_.agent();
    // G2. A Redis key has no session: its value is the only identity of its client.
    const std::string session = agent != nullptr && !call_.exact ? session_of_epoch(agent->epoch) : std::string{};
    const lease::Claim claim{.holder = call_.holder,
                             .session = session,
                             .reason = {},
                             .metadata = metadata,
                             .predicate = predicate,
                             .ttl = terms.ttl,
                             .hold_max = policy().hold_max,
                             .ttl_min = call_.exact ? terms.ttl : policy().ttl_min,
                             .progress = {},
                             .priority = agent != nullptr ? agent->priority : impl.timestamp(),
                             .agent = agent != nullptr,
                             .token = *token,
                             .request = impl.acquisitions.next_number(),
                             .queued = false,
                             .takes_over = 0,
                             .replaces_own = call_.replacing};
    auto verdict = lease::acquire_in_place(record_, neighbours_, claim, now_);
    if (const auto* rejected = std::get_if<lease::Rejected>(&verdict)) return refuse(rejected->code);
    if (auto* busy = std::get_if<lease::Busy>(&verdict)) {
        call_.answer.standing = std::move(busy->standing);
        return refuse(Code::busy);
    }
    const lease::GrantedInPlace& granted = std::get<lease::GrantedInPlace>(verdict);
    for (const lease::Lease& lease : granted.superseded)
        call_.note(EventKind::released, lease);
    call_.note(EventKind::granted, *granted.lease);
    call_.answer.lease = *granted.lease;
    call_.answer.has_lease = true;
    if (terms.cut || granted.lease->ttl < terms.ttl) call_.answer.cut_from = ttl.value_or(terms.ttl);
    if (agent != nullptr) call_.outranked = lease::outranked_by(record_, neighbours_, claim);
    call_.granted = true;
    call_.effect = std::max(call_.effect, store::Effect::changed);
    return std::nullopt;
}

std::optional<Code> RecordTransaction::replace(lease::Predicate predicate, std::optional<Duration> ttl,
                                               std::string_view metadata) {
    if (const lease::Owner of = owner(); of != lease::Owner::nobody) return refuse_for(of);
    const auto own = [&](const lease::Lease& lease) { return lease.holder == call_.holder && lease.session.empty(); };
    std::vector<lease::Lease> others;
    for (const lease::Lease& lease : record_.leases)
        if (!own(lease)) others.push_back(lease);
    std::erase_if(record_.leases, [&](const lease::Lease& lease) { return !own(lease); });
    call_.replacing = true;
    const auto refused = acquire(predicate, ttl, metadata);
    call_.replacing = false;
    record_.leases.insert(record_.leases.begin(), others.begin(), others.end());
    std::sort(record_.leases.begin(), record_.leases.end(),
              [](const lease::Lease& a, const lease::Lease& b) { return a.token < b.token; });
    if (refused) return refused;
    const lease::Token granted = record_.leases.back().token;  // G3: the highest
    const auto note_of_grant = static_cast<std::ptrdiff_t>(call_.events) - 1;
    while (record_.leases.front().token != granted) {
        const lease::Lease& lease = record_.leases.front();
        const bool released = own(lease);
        call_.note(released ? EventKind::released : EventKind::revoked, lease);
        record_.end(lease.token, released ? lease::Ending::released : lease::Ending::revoked, now_);
        call_.effect = store::Effect::freed;
    }
    // Publish the ends before the grant.
    const auto notes = call_.noted.begin();
    std::rotate(notes + note_of_grant, notes + note_of_grant + 1, notes + static_cast<std::ptrdiff_t>(call_.events));
    return std::nullopt;
}

std::optional<Code> RecordTransaction::renew(lease::Token token, std::optional<Duration> ttl) {
    return renew(token, ttl, call_.holder);
}

std::optional<Code> RecordTransaction::renew(lease::Token token, std::optional<Duration> ttl, std::string_view holder) {
    if (forbidden()) return refuse(Code::reserved_namespace);
    const auto verdict =
        lease::renew_in_place(record_, {token, holder, call_.resource, ttl, {}, call_.exact}, policy(), now_);
    if (const auto* rejected = std::get_if<lease::Rejected>(&verdict)) return refuse(rejected->code);
    const lease::RenewedInPlace& renewed = std::get<lease::RenewedInPlace>(verdict);
    call_.answer.lease = *renewed.lease;
    call_.answer.lease.ttl = renewed.ttl;
    call_.answer.has_lease = true;
    call_.answer.cut_from = renewed.cut_from;
    if (call_.authority().events.anyone_listens()) call_.note(EventKind::renewed, *renewed.lease);
    call_.effect = std::max(call_.effect, store::Effect::changed);
    return std::nullopt;
}

std::optional<Code> RecordTransaction::release(lease::Token token) {
    if (const lease::Owner of = owner(); of != lease::Owner::nobody) {
        const lease::Lease* lease = of == lease::Owner::leaders ? record_.find(token) : nullptr;
        const bool proved =
            lease != nullptr && (call_.by_connection || (!lease->session.empty() && lease->session == call_.extra));
        if (!proved && (of != lease::Owner::leaders || lease != nullptr)) return refuse_for(of);
    }
    const auto verdict = lease::release_in_place(record_, token, call_.holder, call_.answer.lease, now_);
    if (const auto* rejected = std::get_if<lease::Rejected>(&verdict)) return refuse(rejected->code);
    if (const auto* ended = std::get_if<lease::AlreadyEnded>(&verdict)) {
        call_.answer.state = ended->state;
        if (ended->was_reserved) call_.effect = store::Effect::freed;
        return std::nullopt;
    }
    call_.answer.state = lease::LeaseState::released;
    call_.answer.has_lease = true;
    call_.note(EventKind::released, call_.answer.lease);
    call_.effect = store::Effect::freed;
    return std::nullopt;
}

void RecordTransaction::end(lease::Token token, lease::Ending how) {
    const lease::Lease* lease = record_.find(token);
    HOLDFAST_ASSERT(lease != nullptr && how != lease::Ending::expired && owner() == lease::Owner::nobody);
    call_.answer.lease = *lease;
    call_.answer.has_lease = true;
    call_.note(how == lease::Ending::revoked ? EventKind::revoked : EventKind::released, *lease);
    record_.end(token, how, now_);
    call_.effect = store::Effect::freed;
}

// ---- the calls ----

SingleRecord::SingleRecord(Authority& authority) : authority_(authority) {}
SingleRecord::~SingleRecord() = default;

SingleRecordCall& SingleRecord::take_call() {
    if (free_.empty()) {
        all_.push_back(std::make_unique<SingleRecordCall>(*this));
        free_.reserve(all_.size());
        return *all_.back();
    }
    SingleRecordCall& call = *free_.back();
    free_.pop_back();
    return call;
}

void SingleRecord::expect(std::span<const store::Expected> coming) {
    authority_.impl_->store->expect(coming);
}

void SingleRecord::update(const SingleRecordSubject& subject, Rule rule, Done done) {
    SingleRecordCall& call = take_call();
    call.resource = subject.resource;
    call.answer.resource = call.resource;
    call.holder = subject.holder;
    call.extra = subject.extra;
    call.rule = std::move(rule);
    call.tell = std::move(done);
    call.over_quota = false;
    call.exact = subject.exact;
    call.signed_for = subject.signed_for;
    call.by_connection = subject.by_connection;
    Authority::Impl& impl = *authority_.impl_;
    if (!call.holder.empty() && !call.signed_for) impl.agents.see(call.holder, {}, impl.now);
    const std::size_t most = subject.takes ? impl.policy().leases_per_holder_max : 0;
    if (most == 0) return start(call);
    impl.store->leases_of(call.holder, store::Store::Which::active, most,
                          [this, &call, most](const Result<std::vector<lease::LeaseName>>& held) {
                              if (!held) return call.done(held.error());
                              call.over_quota = held->size() + 1 > most;
                              start(call);
                          });
}

void SingleRecord::start(SingleRecordCall& call) {
    Authority::Impl& impl = *authority_.impl_;
    impl.store->update(call.resource, call);
    impl.settle_accounts();
}

void SingleRecord::acquire(std::string_view resource, std::string_view holder, lease::Predicate predicate,
                           std::optional<Duration> ttl, Done done) {
    update(
        {.resource = resource, .holder = holder, .extra = {}, .takes = true},
        [predicate, ttl](RecordTransaction& desk) { desk.acquire(predicate, ttl); }, std::move(done));
}

void SingleRecord::renew(std::string_view resource, std::string_view holder, lease::Token token,
                         std::optional<Duration> ttl, Done done) {
    update(
        {.resource = resource, .holder = holder, .extra = {}, .takes = false},
        [token, ttl](RecordTransaction& desk) { desk.renew(token, ttl); }, std::move(done));
}

void SingleRecord::release(std::string_view resource, std::string_view holder, lease::Token token, Done done,
                           std::string_view session) {
    update(
        {.resource = resource, .holder = holder, .extra = session, .takes = false},
        [token](RecordTransaction& desk) { desk.release(token); }, std::move(done));
}

}  // namespace holdfast::authority
