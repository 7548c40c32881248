#include "client/local_core.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/random.h"

namespace holdfast {

void Local::Core::Forgetful::reserve_tokens(core::Token, Callback<Result<void>> done) {
    done({});
}

void Local::Core::Forgetful::save_policy(const core::Policy&, Callback<Result<void>> done) {
    done({});
}

Local::Core::Core()
    : authority_({.durable = durable_, .policy = {}, .wall_ms = wall_clock_ms()}),
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
    alarm_.ring();
    timer_.join();
}

/// One reading of the clock for all that happens now (T6). REQUIRES: the lock is held.
void Local::Core::tick() {
    const Instant now = store_clock_now();
    store_.advance(now);
    authority_.advance(now);
}

/// Wakes the timer if something is due sooner than it knows of. REQUIRES: the lock is held.
void Local::Core::rearm() {
    const Instant due = std::min(store_.next_due(), authority_.next_deadline());
    if (due < armed_) alarm_.ring();
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

core::AcquireAnswer Local::Core::acquire(core::AcquireRequest request, Waiting& waiting) {
    std::unique_lock lock(mutex_);
    tick();
    waiting.ticket = authority_.acquire(std::move(request), [&waiting](core::AcquireAnswer answer) {
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
    if (waiting.ticket == 0 || waiting.answer) return;
    tick();
    if (!waiting.answer) authority_.cancel(waiting.ticket);
}

std::vector<core::RenewAnswer> Local::Core::renew(core::RenewRequest request) {
    const std::lock_guard lock(mutex_);
    tick();
    std::vector<core::RenewAnswer> answers;
    authority_.renew(std::move(request),
                     [&answers](std::vector<core::RenewAnswer> given) { answers = std::move(given); });
    rearm();
    return answers;
}

core::Answer<core::ReleaseAnswer> Local::Core::release(core::ReleaseRequest request) {
    const std::lock_guard lock(mutex_);
    tick();
    core::Answer<core::ReleaseAnswer> answer = core::ReleaseAnswer{};
    authority_.release(std::move(request),
                       [&answer](core::Answer<core::ReleaseAnswer> given) { answer = std::move(given); });
    rearm();
    return answer;
}

}  // namespace holdfast
