#include "election/candidate.h"

#include <algorithm>

#include "lease/holder_deadlines.h"

namespace holdfast::election {
namespace {

constexpr Duration wait_for_a_turn = 60s;  // then it sends a new request
constexpr Duration pause_after_failure = 200ms;

/// A candidate is in the process of its authority, so both read one clock.
HolderInstant own(Instant instant) {
    return HolderInstant{instant.time_since_epoch()};
}
Instant of_the_store(HolderInstant instant) {
    return Instant{instant.time_since_epoch()};
}

/// The lease's instants were read before any acceptor started to count (Q6). So its time counts from there, which is
/// when its attempt was sent, and may have passed already.
lease::HolderDeadlines deadlines_of(const lease::Lease& lease, Instant last_time) {
    const Instant sent_at = lease.expires_at - lease.ttl;
    return lease::HolderDeadlines{lease::TimedAnswer{.sent_at = own(sent_at),
                                                     .arrived_at = own(std::max(last_time, sent_at)),
                                                     .timeline = lease::timeline_of(lease, sent_at),
                                                     .ttl = lease.ttl}};
}

}  // namespace

std::string leader_resource(std::string_view group) {
    return "leader:" + std::string(group);
}

/// Callbacks hold a weak pointer to it, since answers may arrive after the candidate is destroyed.
struct Candidate::Impl : std::enable_shared_from_this<Impl> {
    explicit Impl(Parts given) : parts(std::move(given)), resource(leader_resource(parts.group)) {}

    void advance(Instant time);
    void ask();
    void renew();
    void leads(const lease::Lease& lease);
    void renewed(const lease::Lease& lease);
    void cease();
    void give_back(lease::Token token);

    template <class Method>
    auto later(Method method) {
        return [weak = weak_from_this(), method](auto&& answer) {
            if (const auto self = weak.lock()) method(*self, std::forward<decltype(answer)>(answer));
        };
    }

    Parts parts;
    std::string resource;
    Instant now;
    std::optional<lease::Token> term;
    lease::HolderDeadlines deadlines;  // of the term
    Instant ask_at;                    // when to acquire next
    bool asked = false;                // an acquire is under way
    bool renewing = false;             // likewise a renewal
    bool withdrawn = false;
    authority::Authority::WaitTicket ticket = 0;
};

void Candidate::Impl::advance(Instant time) {
    now = time;
    if (term && !deadlines.held(own(now))) cease();
    if (withdrawn) return;
    if (!term && now >= ask_at) ask();
    if (term && own(now) >= deadlines.renew_at()) renew();
}

void Candidate::Impl::ask() {
    if (asked) return;
    asked = true;
    authority::AcquireRequest request;
    request.caller.node = parts.node;
    request.caller.acts_for = lease::owner_of(resource);
    request.holder = parts.id;
    request.session = parts.group;
    request.intents = {{resource, lease::Predicate::mutates}};
    request.ttl = parts.ttl;
    request.wait = wait_for_a_turn;
    request.reason = "leads " + parts.group;
    ticket = parts.authority.acquire(std::move(request), later([](Impl& self, const authority::AcquireAnswer& answer) {
                                         self.asked = false;
                                         self.ticket = 0;
                                         const auto* got = std::get_if<authority::AcquireGranted>(&answer);
                                         if (got != nullptr) return self.leads(got->leases.front().lease);
                                         self.ask_at = self.now + pause_after_failure;
                                     }));
}

void Candidate::Impl::leads(const lease::Lease& lease) {
    if (withdrawn) return give_back(lease.token);
    deadlines = deadlines_of(lease, now);
    ask_at = now + pause_after_failure;
    if (!deadlines.held(own(now))) return;
    term = lease.token;
    parts.on_lead(lease.token);
}

void Candidate::Impl::renew() {
    if (renewing) return;
    renewing = true;
    authority::RenewRequest request;
    request.caller.node = parts.node;
    request.holder = parts.id;
    request.leases = {{{resource, *term}, std::nullopt}};
    parts.authority.renew(
        std::move(request), later([asked_for = *term](Impl& self, std::vector<authority::RenewAnswer> answers) {
            self.renewing = false;
            if (self.term != asked_for) return;
            if (const auto* renewed = std::get_if<authority::RenewedLease>(&answers.front().result))
                return self.renewed(renewed->held.lease);
            const Code code = std::get<authority::Refused>(answers.front().result).code;
            self.deadlines.on_failure(own(self.now + pause_after_failure));
            if (code != Code::storage_failed && code != Code::unavailable && code != Code::store_unavailable)
                self.cease();
        }));
}

void Candidate::Impl::renewed(const lease::Lease& lease) {
    if (!deadlines.on_answer(deadlines_of(lease, now), own(now))) cease();
}

/// Releases the lease, which may still be active, so that no one has to wait for its expiry.
void Candidate::Impl::cease() {
    const lease::Token was = *term;
    term.reset();
    ask_at = now;
    parts.on_cease();
    give_back(was);
}

void Candidate::Impl::give_back(lease::Token token) {
    authority::ReleaseRequest request{{}, {resource, token}, parts.id};
    request.caller.acts_for = lease::owner_of(resource);
    parts.authority.release(std::move(request), [](const authority::Answer<authority::ReleaseAnswer>&) {});
}

Candidate::Candidate(Parts parts) : impl_(std::make_shared<Impl>(std::move(parts))) {}

Candidate::~Candidate() {
    withdraw();
}

void Candidate::advance(Instant now) {
    impl_->advance(now);
}

Instant Candidate::next_due() const {
    if (impl_->withdrawn) return Instant::max();
    const lease::HolderDeadlines& deadlines = impl_->deadlines;
    if (!impl_->term) return impl_->asked ? Instant::max() : impl_->ask_at;
    return of_the_store(impl_->renewing ? deadlines.end() : std::min(deadlines.renew_at(), deadlines.end()));
}

std::optional<lease::Token> Candidate::term() const {
    return impl_->term;
}

void Candidate::withdraw() {
    if (impl_->withdrawn) return;
    impl_->withdrawn = true;
    if (impl_->ticket != 0) impl_->parts.authority.cancel(impl_->ticket);
    if (impl_->term) impl_->cease();
}

}  // namespace holdfast::election
