#include "election/candidate.h"

#include <algorithm>

#include "lease/skew_margin.h"

namespace holdfast::election {
namespace {

constexpr Duration wait_for_a_turn = 60s;  // then it sends a new request
constexpr Duration pause_after_failure = 200ms;

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
    Instant deadline;       // end of leading, on its own clock
    Instant act_at;         // when to acquire or renew next
    bool asked = false;     // an acquire is under way
    bool renewing = false;  // likewise a renewal
    bool withdrawn = false;
    authority::Authority::WaitTicket ticket = 0;
};

void Candidate::Impl::advance(Instant time) {
    now = time;
    if (term && now >= deadline) cease();
    if (withdrawn || now < act_at) return;
    if (term)
        renew();
    else
        ask();
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
                                         self.act_at = self.now + pause_after_failure;
                                     }));
}

/// The lease's instants are on this process's own clock, read before any acceptor started to count (Q6). So they may
/// have passed already.
void Candidate::Impl::leads(const lease::Lease& lease) {
    if (withdrawn) return give_back(lease.token);
    deadline = lease.expires_at - lease::skew_margin(lease.ttl);
    act_at = std::max(now, lease.expires_at - lease.ttl) + lease.ttl / 3;
    if (now >= deadline || term == lease.token) return;
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
                return self.leads(renewed->held.lease);
            const Code code = std::get<authority::Refused>(answers.front().result).code;
            self.act_at = self.now + pause_after_failure;
            if (code != Code::storage_failed && code != Code::unavailable && code != Code::store_unavailable)
                self.cease();
        }));
}

/// Releases the lease, which may still be active, so that no one has to wait for its expiry.
void Candidate::Impl::cease() {
    const lease::Token was = *term;
    term.reset();
    act_at = now;
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
    const bool waits = impl_->asked || impl_->renewing;
    const Instant act = waits ? Instant::max() : impl_->act_at;
    return impl_->term ? std::min(impl_->deadline, act) : act;
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
