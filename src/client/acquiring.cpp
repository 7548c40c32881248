#include "client/acquiring.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/code.h"
#include "client/keeper.h"
#include "client/lease_state.h"
#include "client/renewals.h"
#include "lease/owner.h"

namespace holdfast::client {

namespace {

constexpr Duration wait_ceiling = 24h * 365;
constexpr Duration pause_min = 20ms;
constexpr Duration max_pause = 1s;
/// A recovering server says for how long, but it may be restarted cleanly meanwhile: retry now and then.
constexpr Duration max_retry_in = 5s;

Failure unreachable(std::string message) {
    return {.outcome = Outcome::unreachable, .code = "unreachable", .message = std::move(message)};
}

Failure broken_off() {
    return {.outcome = Outcome::cancelled, .code = "cancelled", .message = "the program broke the acquire off"};
}

Duration bounded(std::chrono::milliseconds duration) {
    return std::clamp<std::chrono::milliseconds>(duration, 0ms,
                                                 std::chrono::floor<std::chrono::milliseconds>(wait_ceiling));
}

/// A wait that the policy cut short is resumed at once; otherwise the server may have said when to retry.
Duration pause_after(const Failure& failure) {
    if (code_in(failure.code) == Code::wait_timeout) return pause_min;
    return std::min<Duration>(failure.retry_in.value_or(200ms), max_retry_in);
}

lease::HolderDeadlines deadlines_of(const TimedGrant& granted, HolderInstant arrived_at) {
    return lease::HolderDeadlines{lease::TimedAnswer{.sent_at = granted.sent_at,
                                                     .arrived_at = arrived_at,
                                                     .timeline = granted.timing.timeline,
                                                     .ttl = granted.timing.ttl,
                                                     .waited = granted.waited}};
}

}  // namespace

std::string fresh_session(const std::vector<Intent>& intents) {
    const bool leads = std::any_of(intents.begin(), intents.end(), [](const Intent& intent) {
        return lease::owner_of(intent.resource) == lease::Owner::leaders;
    });
    return (leads ? std::string(lease::private_session) : std::string{}) + random_hex(8);
}

Acquiring::Acquiring(std::shared_ptr<Client::Core> core, std::vector<Intent> intents, const AcquireOptions& options)
    : core_(std::move(core)),
      transport_(core_->transport),
      stop_(options.stop),
      keep_(options.keep),
      random_(random_seed()) {
    ask_ = {.holder = core_->holder,
            .session = options.session.empty() ? fresh_session(intents) : options.session,
            .name_space = options.name_space,
            .intents = std::move(intents),
            .ttl = bounded(options.ttl),
            .reason = options.reason,
            .metadata = options.metadata,
            .idempotency_key = {},
            .epoch = core_->epoch->get()};
    give_up_at_ = holder_clock_now() + bounded(options.wait);
    stop_at_ = give_up_at_ + core_->timeout;
}

void Acquiring::observe(Observer observer) {
    transport_ = std::move(observer.transport);
    goes_on_ = std::move(observer.goes_on);
}

std::optional<Failure> Acquiring::problem() const {
    const auto refused = [](const ErrorCode& code, std::string message) {
        return Failure{.outcome = Outcome::refused, .code = std::string(code.name()), .message = std::move(message)};
    };
    if (core_->born != forks())
        return refused(Code::invalid_argument, "this client is the parent's: make one after fork()");
    if (core_->problem) return refused(core_->problem->code, core_->problem->message);
    return std::nullopt;
}

Acquired Acquiring::run() {
    auto result = take();
    if (auto* failure = std::get_if<Failure>(&result)) return std::move(*failure);
    auto& taken = std::get<Taken>(result);
    auto state = std::make_shared<Lease::State>(std::move(taken.grants), taken.session, taken.deadlines, core_);
    core_->keeper.add({state, taken.deadlines, keep_});
    return Lease(std::move(state));
}

std::variant<Acquiring::Taken, Failure> Acquiring::take() {
    if (auto wrong = problem()) return std::move(*wrong);
    if (stop_.stop_requested()) return cancelled(NoAnswer{{}, true});
    while (true) {
        AcquireReply reply = ask();
        if (stop_.stop_requested()) return cancelled(std::move(reply));
        if (auto* nothing = std::get_if<NoAnswer>(&reply)) return unreachable(std::move(nothing->message));
        Failure failure;
        if (const auto* grants = std::get_if<std::vector<TimedGrant>>(&reply)) {
            auto settled = settle(*grants);
            if (auto* taken = std::get_if<Taken>(&settled)) return std::move(*taken);
            failure = std::move(std::get<Failure>(settled));
        } else {
            failure = std::move(std::get<Failure>(reply));
        }
        if (!may_ask_again(failure)) return failure;
        pause(pause_after(failure));
        if (stop_.stop_requested()) return cancelled(std::move(failure));
    }
}

/// Best effort to leave no lease behind: a grant that crossed the stop is released, and if an answer was lost, the
/// request is repeated once with its key and without a wait, to learn of a grant (G7).
Failure Acquiring::cancelled(AcquireReply reply) {
    const auto* nothing = std::get_if<NoAnswer>(&reply);
    const bool unknown = nothing != nullptr && (unanswered_ || !nothing->unsent);
    if (unknown) {
        ask_.wait = Duration::zero();
        reply = transport_->acquire(ask_, max_release, {});
    }
    Failure failure = broken_off();
    if (unknown && std::holds_alternative<NoAnswer>(reply))
        failure.message += "; no server answered, so what was perhaps granted ends by itself";
    if (const auto* timed = std::get_if<std::vector<TimedGrant>>(&reply)) {
        std::vector<Grant> grants;
        for (const TimedGrant& one : *timed)
            grants.push_back(one.grant);
        give_back(grants);
    }
    return failure;
}

void Acquiring::give_back(const std::vector<Grant>& grants) const {
    core_->release(grants, ask_.session, std::min(core_->timeout, max_release));
}

bool Acquiring::may_ask_again(const Failure& failure) const {
    const bool final =
        failure.outcome == Outcome::refused || failure.outcome == Outcome::die || failure.outcome == Outcome::cancelled;
    return !final && holder_clock_now() < give_up_at_ && goes_on(failure);
}

/// Sends the request, with one key, until it is answered. Once the wait is over, an unanswered request is repeated only
/// once, to learn its result.
AcquireReply Acquiring::ask() {
    ask_.idempotency_key = random_hex(16);
    unanswered_ = false;
    Backoff backoff({pause_min, max_pause});
    for (bool last = false;;) {
        ask_.wait = whole_ms(std::max<Duration>(give_up_at_ - holder_clock_now(), Duration::zero()));
        AcquireReply reply = transport_->acquire(ask_, stop_at_ - holder_clock_now(), stop_);
        const auto* failure = std::get_if<Failure>(&reply);
        const bool pending = failure != nullptr && code_in(failure->code) == Code::idempotency_in_progress;
        if (!pending && !std::holds_alternative<NoAnswer>(reply)) return reply;
        const HolderInstant now = holder_clock_now();
        if (last || now >= stop_at_ || stop_.stop_requested()) return reply;
        const auto* nothing = std::get_if<NoAnswer>(&reply);
        unanswered_ = unanswered_ || nothing == nullptr || !nothing->unsent;
        if (nothing != nullptr && !goes_on(unreachable(nothing->message))) return reply;
        last = now >= give_up_at_;
        if (!last) pause(backoff.next());
        if (stop_.stop_requested()) return NoAnswer{"the acquire was broken off", true};
    }
}

void Acquiring::pause(Duration at_most) {
    const Duration left = give_up_at_ - holder_clock_now();
    const auto jittered = std::chrono::duration_cast<Duration>(std::max(at_most, pause_min) * (1 + random_.unit() / 8));
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop_, std::min(left, jittered), [] { return false; });
}

/// Takes a grant over, if enough of it is left. After a long wait, in which the clocks may have drifted apart, or
/// a slow answer, much of the TTL is used up by the holder's clock: the lease is renewed first (T3).
std::variant<Acquiring::Taken, Failure> Acquiring::settle(const std::vector<TimedGrant>& timed) {
    const HolderInstant now = holder_clock_now();
    std::vector<Grant> grants;
    auto deadlines = deadlines_of(timed.front(), now);
    for (const TimedGrant& one : timed) {
        grants.push_back(one.grant);
        deadlines = deadlines.earlier_of(deadlines_of(one, now));
    }
    std::optional<Failure> failure;
    if (holder_clock_now() >= deadlines.renew_at()) failure = confirm(grants, deadlines);
    if (!failure && !deadlines.held(holder_clock_now()))
        failure = unreachable("the server's answer came too late to be of use");
    if (stop_.stop_requested()) failure = broken_off();
    if (failure) {
        give_back(grants);
        return std::move(*failure);
    }
    return Taken{std::move(grants), ask_.session, deadlines, timed.front().timing};
}

/// Renews at once. Without an answer the deadlines stay as they were.
std::optional<Failure> Acquiring::confirm(const std::vector<Grant>& grants, lease::HolderDeadlines& deadlines) {
    RenewalBatch batch(core_->holder, core_->epoch->get());
    batch.add(0, grants, HolderInstant::max());
    const HolderInstant sent_at = holder_clock_now();
    const auto way = stop_.stop_possible() ? core_->transport->twin() : core_->transport;
    const std::stop_callback on_stop(stop_, [&way] { way->stop(); });
    const auto reply = way->renew(batch.names(), core_->timeout);
    const auto [key, answer, why] = batch.answers(reply, {sent_at, holder_clock_now()}).front();
    if (const auto* granted = std::get_if<RenewalGranted>(&answer)) deadlines = granted->deadlines;
    const auto* rejected = std::get_if<RenewalRejected>(&answer);
    if (rejected == nullptr || !means_lost(rejected->code)) return std::nullopt;
    return Failure{.outcome = Outcome::lost, .code = std::string(why.code.name()), .message = why.message};
}

}  // namespace holdfast::client
