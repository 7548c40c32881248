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
    const Agent* agent() const { return authority().admission.agent_of(holder, acts_for); }
    void forget();
    void note(EventKind kind, const lease::Lease& lease);
    /// True if it granted something to a holder that may be an agent. A step's grant may still be rolled back.
    bool counts() const { return granted && !is_step && acts_for == lease::Owner::nobody; }

    struct Noted {
        EventKind kind;
        lease::Lease lease;
    };

    SingleRecord& single_record;
    std::size_t place = 0;  // among all calls
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
    bool node = false;
    bool by_connection = false;
    bool is_step = false;
    lease::Owner acts_for = lease::Owner::nobody;
};

void SingleRecordCall::forget() {
    if (!answer.standing.free()) answer.standing = {};
    answer.refused.reset();
    answer.retry_in.reset();
    answer.detail.clear();
    answer.has_lease = false;
    answer.cut_from.reset();
    answer.state = lease::LeaseState::unknown;
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

/// Keeps the call for reuse, or ends it: one heartbeat may renew 10,000 leases at once.
inline void SingleRecord::put_back(SingleRecordCall& call) {
    if (free_.size() < max_kept) return free_.push_back(&call);
    all_.back()->place = call.place;
    std::swap(all_[call.place], all_.back());
    all_.pop_back();
}

void SingleRecordCall::done(Result<void> outcome) {
    Authority::Impl& impl = authority();
    if (outcome) {
        for (std::size_t i = 0; i < events; ++i)
            impl.events.publish_own(noted[i].kind, resource, noted[i].lease, impl.now);
        if (!outranked.empty()) impl.acquisitions.judge_again(outranked);
        if (counts()) impl.agents.granted(holder);
    } else {
        forget();
        Refused failure = storage_failure(outcome.error());
        answer.refused = failure.code;
        answer.detail = std::move(failure.detail);
        answer.retry_in = failure.retry_in;
    }
    tell(answer);
    if (counts()) impl.acquisitions.nudge(holder);
    rule = {};
    tell = {};
    single_record.put_back(*this);
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
    return call_.authority().admission.policy_for(call_.node);
}
SingleRecordAnswer& RecordTransaction::answer() {
    return call_.answer;
}

std::optional<Code> RecordTransaction::refuse(Code code) const {
    call_.answer.refused = code;
    if (code == Code::banned) call_.answer.detail = refused_under(policy(), code, call_.holder).detail;
    return code;
}

std::optional<Code> RecordTransaction::refuse(Refused refusal) const {
    call_.answer.refused = refusal.code;
    call_.answer.detail = std::move(refusal.detail);
    call_.answer.retry_in = refusal.retry_in;
    return refusal.code;
}

/// The service that owns the resource; nobody for the service's own request.
lease::Owner RecordTransaction::owner() const {
    const lease::Owner owner = lease::owner_of(call_.resource);
    return owner == call_.acts_for ? lease::Owner::nobody : owner;
}

std::optional<Code> RecordTransaction::acquire(lease::Predicate predicate, std::optional<Duration> ttl,
                                               std::string_view metadata) {
    Authority::Impl& impl = call_.authority();
    auto admitted = impl.admission.admit({.resource = call_.resource,
                                          .holder = call_.holder,
                                          .acts_for = call_.acts_for,
                                          .node = call_.node,
                                          .ttl = ttl,
                                          .exact = call_.exact,
                                          .over_quota = call_.over_quota},
                                         impl.now);
    if (auto* refusal = std::get_if<Refused>(&admitted)) return refuse(std::move(*refusal));
    const Admission::Terms& terms = std::get<Admission::Terms>(admitted);
    const Agent* agent = call_.agent();
    // G2. A Redis key has no session: its value is the only identity of its client.
    const std::string session = agent != nullptr && !call_.exact ? session_of_epoch(agent->epoch) : std::string{};
    const auto refused = take({.holder = call_.holder,
                               .session = session,
                               .reason = {},
                               .metadata = metadata,
                               .predicate = predicate,
                               .ttl = terms.ttl,
                               .hold_max = terms.hold_max,
                               .ttl_min = terms.ttl_min,
                               .progress = {},
                               .priority = agent != nullptr ? agent->priority : impl.timestamp(),
                               .agent = agent != nullptr,
                               .token = 0,
                               .request = impl.acquisitions.next_number(),
                               .queued = false,
                               .takes_over = 0,
                               .replaces_own = call_.replacing});
    if (refused) return refused;
    if (terms.cut || call_.answer.lease.ttl < terms.ttl) call_.answer.cut_from = ttl.value_or(terms.ttl);
    return std::nullopt;
}

std::optional<Code> RecordTransaction::take(lease::Claim claim) {
    const auto token = call_.authority().tokens.take();
    if (!token) return refuse(Refused{Code::tokens_exhausted, {}, Duration{100ms}});
    claim.token = *token;
    auto verdict = lease::acquire(record_, neighbours_, claim, now_);
    if (const auto* rejected = std::get_if<lease::Rejected>(&verdict)) return refuse(rejected->code);
    if (auto* busy = std::get_if<lease::Busy>(&verdict)) {
        call_.answer.standing = std::move(busy->standing);
        return refuse(Code::busy);
    }
    const lease::Granted& granted = std::get<lease::Granted>(verdict);
    for (const lease::Lease& lease : granted.superseded)
        call_.note(EventKind::released, lease);
    if (!call_.is_step) call_.note(EventKind::granted, *granted.lease);
    call_.answer.lease = *granted.lease;
    call_.answer.has_lease = true;
    if (claim.agent) call_.outranked = lease::outranked_by(record_, neighbours_, claim);
    call_.granted = true;
    call_.effect = std::max(call_.effect, store::Effect::changed);
    return std::nullopt;
}

void RecordTransaction::queue(const lease::Claim& claim, Instant until) {
    const bool is_queued = std::any_of(record_.waiters.begin(), record_.waiters.end(),
                                       [&](const lease::Waiter& waiter) { return waiter.id == claim.request; });
    if (is_queued) return;
    lease::enqueue(record_, claim, until);
    call_.effect = std::max(call_.effect, store::Effect::changed);
}

std::optional<Code> RecordTransaction::replace(lease::Predicate predicate, std::optional<Duration> ttl,
                                               std::string_view metadata) {
    if (const lease::Owner of = owner(); of != lease::Owner::nobody) return refuse(refused_by(of));
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

std::optional<Code> RecordTransaction::renew(lease::Token token, std::optional<Duration> ttl, std::string_view holder,
                                             std::optional<std::uint64_t> progress) {
    if (owner() == lease::Owner::directory) return refuse(Code::reserved_namespace);
    const auto verdict =
        lease::renew(record_, {token, holder, call_.resource, ttl, progress, call_.exact}, policy(), now_);
    if (const auto* rejected = std::get_if<lease::Rejected>(&verdict)) return refuse(rejected->code);
    const lease::Renewed& renewed = std::get<lease::Renewed>(verdict);
    call_.answer.lease = *renewed.lease;
    call_.answer.lease.ttl = renewed.ttl;
    call_.answer.has_lease = true;
    call_.answer.cut_from = renewed.cut_from;
    if (call_.authority().events.anyone_listens()) call_.note(EventKind::renewed, *renewed.lease);
    call_.effect = std::max(call_.effect, store::Effect::changed);
    return std::nullopt;
}

/// A leader's lease may be released by its connection, or by a caller that knows the session it leads in (R2). Anyone
/// may learn that it has ended.
bool RecordTransaction::may_release(lease::Token token) const {
    const lease::Owner of = owner();
    if (of == lease::Owner::nobody) return true;
    if (of != lease::Owner::leaders) return false;
    const lease::Lease* lease = record_.find(token);
    if (lease == nullptr || !lease->active(now_) || call_.by_connection) return true;
    return !lease->session.empty() && lease->session == call_.extra;
}

std::optional<Code> RecordTransaction::release(lease::Token token) {
    if (!may_release(token)) return refuse(refused_by(owner()));
    if (const lease::Lease* lease = record_.find(token)) call_.answer.lease = *lease;
    const auto verdict = lease::release(record_, token, call_.holder, now_);
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
        all_.back()->place = all_.size() - 1;
        free_.reserve(std::min(all_.size(), max_kept));
        return *all_.back();
    }
    SingleRecordCall& call = *free_.back();
    free_.pop_back();
    return call;
}

void SingleRecord::expect(std::span<const store::Expected> coming) {
    authority_.impl_->store->expect(coming);
}

SingleRecordCall& SingleRecord::prepare(const SingleRecordSubject& subject, Rule&& rule, Done&& done) {
    SingleRecordCall& call = take_call();
    call.resource = subject.resource;
    call.answer.resource = call.resource;
    call.holder = subject.holder;
    call.extra = subject.extra;
    call.rule = std::move(rule);
    call.tell = std::move(done);
    call.over_quota = false;
    call.exact = subject.exact;
    call.acts_for = subject.acts_for;
    call.node = subject.node;
    call.by_connection = subject.by_connection;
    call.is_step = false;
    return call;
}

void SingleRecord::update(const SingleRecordSubject& subject, Rule rule, Done done) {
    SingleRecordCall& call = prepare(subject, std::move(rule), std::move(done));
    Authority::Impl& impl = *authority_.impl_;
    if (!call.holder.empty() && call.acts_for == lease::Owner::nobody) impl.agents.see(call.holder, {}, impl.now);
    if (!subject.takes || impl.policy().of(call.resource).leases_per_holder_max() == 0) return start(call);
    impl.store->leases_of(call.holder, store::Store::Which::active, SIZE_MAX,
                          [this, &call](const Result<std::vector<lease::LeaseName>>& held) {
                              if (!held) return call.done(held.error());
                              call.over_quota = call.authority().admission.exceeds_quota(*held, call.resource, 1);
                              start(call);
                          });
}

void SingleRecord::step(const SingleRecordSubject& subject, Rule rule, Done done) {
    SingleRecordCall& call = prepare(subject, std::move(rule), std::move(done));
    call.is_step = true;
    authority_.impl_->store->update(call.resource, call);
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
