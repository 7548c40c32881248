#include "authority/single_record.h"

#include <algorithm>

#include "authority/authority_impl.h"
#include "base/assert.h"

namespace holdfast::core {

/// One request, from the call to the answer. Objects are reused, with their memory.
struct SingleRecordCall final : Update {
    explicit SingleRecordCall(SingleRecord& owner) : single_record(owner) {}

    Effect apply(Record& record, const Neighbours& neighbours, Instant now) override;
    void done(Result<void> outcome) override;

    Authority::Impl& authority() const { return *single_record.authority_.impl_; }
    /// Anyone may register an agent under any name; a signed request must not depend on that.
    const Agent* agent() const { return signed_for ? nullptr : authority().agents.find(holder); }
    void forget();
    void note(EventKind kind, const Lease& lease);

    struct Noted {
        EventKind kind;
        Lease lease;
    };

    SingleRecord& single_record;
    std::string resource, holder, extra;
    SingleRecord::Rule rule;
    SingleRecord::Done tell;
    SingleRecordAnswer answer;
    Effect effect = Effect::none;
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
    answer.state = LeaseState::unknown;
    answer.standing = {};
    answer.number = 0;
    answer.text.clear();
    effect = Effect::none;
    events = 0;
    outranked.clear();
    granted = false;
}

void SingleRecordCall::note(EventKind kind, const Lease& lease) {
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

Effect SingleRecordCall::apply(Record& record, const Neighbours& neighbours, Instant now) {
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
const Policy& RecordTransaction::policy() const {
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
std::optional<Code> RecordTransaction::refuse_for(Owner of) const {
    call_.answer.detail = advice_of(of);
    return refuse(refusal_of(of));
}

/// Only a signed request may change a resource that belongs to its publisher (D1).
bool RecordTransaction::forbidden() const {
    return !call_.signed_for && is_reserved(call_.resource);
}

/// The service that owns the resource; nobody for a signed request.
Owner RecordTransaction::owner() const {
    return call_.signed_for ? Owner::nobody : owner_of(call_.resource);
}

/// The checks of Admission::terms_for(), in the same order.
std::optional<Code> RecordTransaction::admitted() const {
    const Authority::Impl& impl = call_.authority();
    if (impl.admission.stopping) return Code::stopping;
    const Agent* agent = call_.agent();
    if (agent != nullptr && agent->restarting) return Code::agent_restarting;
    if (const Owner of = owner(); of != Owner::nobody && of != Owner::leaders) return refuse_for(of);
    return bar_to(impl.policy(), call_.holder, call_.resource);
}

std::optional<Code> RecordTransaction::acquire(Predicate predicate, std::optional<Duration> ttl,
                                               std::string_view metadata) {
    Authority::Impl& impl = call_.authority();
    if (const auto code = admitted()) return refuse(*code);
    const auto decision = call_.exact && ttl ? decide_exact_ttl(policy(), *ttl) : decide_ttl(policy(), ttl);
    if (const auto* refused_ttl = std::get_if<RefusedTtl>(&decision)) return refuse(refused_ttl->code);
    const GrantedTtl& terms = std::get<GrantedTtl>(decision);
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
    const Claim claim{.holder = call_.holder,
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
    auto verdict = acquire_in_place(record_, neighbours_, claim, now_);
    if (const auto* rejected = std::get_if<Rejected>(&verdict)) return refuse(rejected->code);
    if (auto* busy = std::get_if<Busy>(&verdict)) {
        call_.answer.standing = std::move(busy->standing);
        return refuse(Code::busy);
    }
    const GrantedInPlace& granted = std::get<GrantedInPlace>(verdict);
    for (const Lease& lease : granted.superseded)
        call_.note(EventKind::released, lease);
    call_.note(EventKind::granted, *granted.lease);
    call_.answer.lease = *granted.lease;
    call_.answer.has_lease = true;
    if (terms.cut || granted.lease->ttl < terms.ttl) call_.answer.cut_from = ttl.value_or(terms.ttl);
    if (agent != nullptr) call_.outranked = outranked_by(record_, neighbours_, claim);
    call_.granted = true;
    call_.effect = std::max(call_.effect, Effect::changed);
    return std::nullopt;
}

std::optional<Code> RecordTransaction::replace(Predicate predicate, std::optional<Duration> ttl,
                                               std::string_view metadata) {
    if (const Owner of = owner(); of != Owner::nobody) return refuse_for(of);
    const auto own = [&](const Lease& lease) { return lease.holder == call_.holder && lease.session.empty(); };
    std::vector<Lease> others;
    for (const Lease& lease : record_.leases)
        if (!own(lease)) others.push_back(lease);
    std::erase_if(record_.leases, [&](const Lease& lease) { return !own(lease); });
    call_.replacing = true;
    const auto refused = acquire(predicate, ttl, metadata);
    call_.replacing = false;
    record_.leases.insert(record_.leases.begin(), others.begin(), others.end());
    std::sort(record_.leases.begin(), record_.leases.end(),
              [](const Lease& a, const Lease& b) { return a.token < b.token; });
    if (refused) return refused;
    const Token granted = record_.leases.back().token;  // G3: the highest
    const auto note_of_grant = static_cast<std::ptrdiff_t>(call_.events) - 1;
    while (record_.leases.front().token != granted) {
        const Lease& lease = record_.leases.front();
        const bool released = own(lease);
        call_.note(released ? EventKind::released : EventKind::revoked, lease);
        record_.end(lease.token, released ? Ending::released : Ending::revoked, now_);
        call_.effect = Effect::freed;
    }
    // Publish the ends before the grant.
    const auto notes = call_.noted.begin();
    std::rotate(notes + note_of_grant, notes + note_of_grant + 1, notes + static_cast<std::ptrdiff_t>(call_.events));
    return std::nullopt;
}

std::optional<Code> RecordTransaction::renew(Token token, std::optional<Duration> ttl) {
    return renew(token, ttl, call_.holder);
}

std::optional<Code> RecordTransaction::renew(Token token, std::optional<Duration> ttl, std::string_view holder) {
    if (forbidden()) return refuse(Code::reserved_namespace);
    const auto verdict = renew_in_place(record_, {token, holder, call_.resource, ttl, {}, call_.exact}, policy(), now_);
    if (const auto* rejected = std::get_if<Rejected>(&verdict)) return refuse(rejected->code);
    const RenewedInPlace& renewed = std::get<RenewedInPlace>(verdict);
    call_.answer.lease = *renewed.lease;
    call_.answer.lease.ttl = renewed.ttl;
    call_.answer.has_lease = true;
    call_.answer.cut_from = renewed.cut_from;
    if (call_.authority().events.anyone_listens()) call_.note(EventKind::renewed, *renewed.lease);
    call_.effect = std::max(call_.effect, Effect::changed);
    return std::nullopt;
}

std::optional<Code> RecordTransaction::release(Token token) {
    if (const Owner of = owner(); of != Owner::nobody) {
        const Lease* lease = of == Owner::leaders ? record_.find(token) : nullptr;
        const bool proved =
            lease != nullptr && (call_.by_connection || (!lease->session.empty() && lease->session == call_.extra));
        if (!proved && (of != Owner::leaders || lease != nullptr)) return refuse_for(of);
    }
    const auto verdict = release_in_place(record_, token, call_.holder, call_.answer.lease, now_);
    if (const auto* rejected = std::get_if<Rejected>(&verdict)) return refuse(rejected->code);
    if (const auto* ended = std::get_if<AlreadyEnded>(&verdict)) {
        call_.answer.state = ended->state;
        if (ended->was_reserved) call_.effect = Effect::freed;
        return std::nullopt;
    }
    call_.answer.state = LeaseState::released;
    call_.answer.has_lease = true;
    call_.note(EventKind::released, call_.answer.lease);
    call_.effect = Effect::freed;
    return std::nullopt;
}

void RecordTransaction::end(Token token, Ending how) {
    const Lease* lease = record_.find(token);
    HOLDFAST_ASSERT(lease != nullptr && how != Ending::expired && owner() == Owner::nobody);
    call_.answer.lease = *lease;
    call_.answer.has_lease = true;
    call_.note(how == Ending::revoked ? EventKind::revoked : EventKind::released, *lease);
    record_.end(token, how, now_);
    call_.effect = Effect::freed;
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

void SingleRecord::expect(std::span<const Expected> coming) {
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
    impl.store->leases_of(call.holder, Store::Which::active, most,
                          [this, &call, most](const Result<std::vector<LeaseName>>& held) {
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

void SingleRecord::acquire(std::string_view resource, std::string_view holder, Predicate predicate,
                           std::optional<Duration> ttl, Done done) {
    update(
        {.resource = resource, .holder = holder, .extra = {}, .takes = true},
        [predicate, ttl](RecordTransaction& desk) { desk.acquire(predicate, ttl); }, std::move(done));
}

void SingleRecord::renew(std::string_view resource, std::string_view holder, Token token, std::optional<Duration> ttl,
                         Done done) {
    update(
        {.resource = resource, .holder = holder, .extra = {}, .takes = false},
        [token, ttl](RecordTransaction& desk) { desk.renew(token, ttl); }, std::move(done));
}

void SingleRecord::release(std::string_view resource, std::string_view holder, Token token, Done done,
                           std::string_view session) {
    update(
        {.resource = resource, .holder = holder, .extra = session, .takes = false},
        [token](RecordTransaction& desk) { desk.release(token); }, std::move(done));
}

}  // namespace holdfast::core
