#include "client/local_core.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "client/client_core.h"
#include "client/http_transport.h"
#include "client/local_transport.h"

namespace holdfast {

void Local::Core::Forgetful::reserve_tokens(lease::Token, Callback<Result<void>> done) {
    done({});
}

void Local::Core::Forgetful::submit(store::Change, std::optional<store::AuditEntry>, Callback<Result<void>> done) {
    done({});
}

Local::Core::Core()
    : authority_({.durable = durable_,
                  .policy = {},
                  .wall_ms = wall_clock_ms(),
                  .started_at = store_clock_now(),
                  .seed = random_seed()}),
      store_(authority_.listener(), HashKey{random_seed(), random_seed()}) {
    authority_.use(store_);
    tick();
    timer_ = std::thread([this] { run_timer(); });
}

Local::Core::~Core() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    alarm_.wake();
    timer_.join();
}

/// One reading of the clock for all that happens now (T6). REQUIRES: the lock is held.
void Local::Core::tick() {
    const Instant now = store_clock_now();
    store_.advance(now);
    authority_.advance(now);
}

/// Wakes the timer if something is due before the instant it is armed for. REQUIRES: the lock is held.
void Local::Core::rearm() {
    const Instant due = std::min(store_.next_due(), authority_.next_deadline());
    if (due < armed_) alarm_.wake();
}

void Local::Core::run_timer() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        tick();
        armed_ = std::min(store_.next_due(), authority_.next_deadline());
        const Instant until = armed_;
        lock.unlock();
        alarm_.sleep_until(until);
        lock.lock();
    }
}

authority::AcquireAnswer Local::Core::acquire(authority::AcquireRequest request, Waiting& waiting) {
    std::unique_lock lock(mutex_);
    if (waiting.cancelled) return authority::AcquireBusy{Code::cancelled, {}, {}};
    tick();
    waiting.ticket = authority_.acquire(std::move(request), [&waiting](authority::AcquireAnswer answer) {
        waiting.answer = std::move(answer);
        waiting.answered.notify_all();
    });
    rearm();
    waiting.answered.wait(lock, [&waiting] { return waiting.answer.has_value(); });
    waiting.ticket = 0;
    return std::move(*waiting.answer);
}

void Local::Core::cancel(Waiting& waiting) {
    const std::lock_guard lock(mutex_);
    waiting.cancelled = true;
    if (waiting.ticket == 0 || waiting.answer) return;
    tick();
    if (!waiting.answer) authority_.cancel(waiting.ticket);
}

template <class T, class Call>
T Local::Core::run(Call call) {
    const std::lock_guard lock(mutex_);
    tick();
    std::optional<T> answer;
    call([&answer](T given) { answer = std::move(given); });
    rearm();
    HOLDFAST_ASSERT(answer);
    return std::move(*answer);
}

std::vector<authority::RenewAnswer> Local::Core::renew(authority::RenewRequest request) {
    return run<std::vector<authority::RenewAnswer>>(
        [&](auto reply) { authority_.renew(std::move(request), std::move(reply)); });
}

authority::Answer<authority::ReleaseAnswer> Local::Core::release(authority::ReleaseRequest request) {
    return run<authority::Answer<authority::ReleaseAnswer>>(
        [&](auto reply) { authority_.release(std::move(request), std::move(reply)); });
}

authority::Answer<authority::AgentAnswer> Local::Core::put_agent(authority::AgentRequest request) {
    return run<authority::Answer<authority::AgentAnswer>>(
        [&](auto reply) { authority_.put_agent(std::move(request), std::move(reply)); });
}

authority::Answer<authority::RestartAnswer> Local::Core::declare_restart(authority::AgentRequest request) {
    return run<authority::Answer<authority::RestartAnswer>>(
        [&](auto reply) { authority_.declare_restart(std::move(request), std::move(reply)); });
}

authority::Answer<std::vector<authority::VerifyAnswer>> Local::Core::verify_all(authority::AgentRequest request) {
    return run<authority::Answer<std::vector<authority::VerifyAnswer>>>(
        [&](auto reply) { authority_.verify_all(std::move(request.id), request.epoch, std::move(reply)); });
}

// ---- the public class ----

namespace {

/// A child made by fork() has a copy of the core but not its timer thread: the core is leaked there, not destroyed.
std::shared_ptr<Local::Core> make_core() {
    const auto destroy_unless_forked = [](const Local::Core* core) {
        if (core->born == client::forks()) delete core;
    };
    return {new Local::Core, destroy_unless_forked};
}

}  // namespace

Local::Local() : core_(make_core()) {}

Client Local::client(std::string holder) const {
    std::optional<Error> problem;
    if (!core_) {
        problem = Error{Code::invalid_argument, "this authority was moved from: use the one it was moved to"};
        const auto nowhere = std::make_shared<client::HttpTransport>("http://127.0.0.1:7400");  // which is never asked
        return Client(Client::Core::make({.transport = nowhere, .holder = std::move(holder), .problem = problem}));
    }
    if (core_->born != client::forks())
        problem = Error{Code::invalid_argument, "this authority is the parent's: make one after fork()"};
    return Client(Client::Core::make({.transport = std::make_shared<client::LocalTransport>(core_),
                                      .holder = std::move(holder),
                                      .timeout = 5s,
                                      .problem = std::move(problem)}));
}

}  // namespace holdfast
