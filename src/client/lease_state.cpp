#include "client/lease_state.h"

#include <algorithm>
#include <utility>

#include "client/client_core.h"
#include "client/keeper.h"

namespace holdfast {

namespace {

HolderInstant instant(std::int64_t count) {
    return HolderInstant{Duration{count}};
}

}  // namespace

Lease::State::State(std::vector<Grant> granted, std::string in_session, const Deadlines& deadlines,
                    std::shared_ptr<Client::Core> owner)
    : grants(std::move(granted)), session(std::move(in_session)), until_(deadlines.end), core_(std::move(owner)) {
    set_soft_and_hard(deadlines);
}

void Lease::State::set_soft_and_hard(const Deadlines& deadlines) noexcept {
    soft_.store(deadlines.soft.time_since_epoch().count(), std::memory_order_relaxed);
    hard_.store(deadlines.hard.time_since_epoch().count(), std::memory_order_relaxed);
}

/// The deadlines first and the clock last, as in HeldUntil: what is left is never overstated.
Remaining Lease::State::remaining() noexcept {
    const HolderInstant end = until_.end();
    const HolderInstant soft = instant(soft_.load(std::memory_order_relaxed));
    const HolderInstant hard = instant(hard_.load(std::memory_order_relaxed));
    if (!held()) return {};
    const HolderInstant now = holder_clock_now();
    const auto left = [now](HolderInstant until) { return std::max(until - now, Duration::zero()); };
    return {left(soft), left(hard), left(end)};
}

bool Lease::State::move(const Deadlines& deadlines, HolderInstant now) noexcept {
    if (!until_.move(deadlines.end, now)) return false;
    set_soft_and_hard(deadlines);
    return true;
}

void Lease::State::change(Outcome outcome) {
    const std::lock_guard lock(mutex_);
    const bool news = outcome_.exchange(outcome) != outcome || outcome == Outcome::granted;
    if (const auto callback = on_change_; news && callback) (*callback)(outcome);
}

void Lease::State::lose(Failure failure) {
    until_.finish();
    const std::lock_guard lock(mutex_);
    if (lost_ || !core_) return;
    lost_ = std::move(failure);
    if (const auto callback = std::exchange(on_lost_, nullptr)) (*callback)(*lost_);
}

void Lease::State::on_lost(std::function<void(const Failure&)> callback) {
    const std::lock_guard lock(mutex_);
    if (!core_ || !callback) return;
    if (lost_) return callback(*lost_);
    on_lost_ = std::make_shared<const std::function<void(const Failure&)>>(std::move(callback));
}

void Lease::State::on_change(std::function<void(Outcome)> callback) {
    const std::lock_guard lock(mutex_);
    on_change_ = callback ? std::make_shared<const std::function<void(Outcome)>>(std::move(callback)) : nullptr;
}

/// Ends the lease for this process. Null if that was done before.
std::shared_ptr<Client::Core> Lease::State::finish() {
    until_.finish();
    std::pair<decltype(on_lost_), decltype(on_change_)> dropped;
    const std::lock_guard lock(mutex_);
    dropped = {std::exchange(on_lost_, nullptr), std::exchange(on_change_, nullptr)};
    return std::exchange(core_, nullptr);
}

void Lease::State::abandon() {
    if (born_ != forks()) return;  // it is the parent's
    if (const auto core = finish()) core->keeper.remove(key);
}

/// Tells the authority if the lease was still held, or if it was lost for one of its grants and the others may live.
bool Lease::State::release() {
    if (born_ != forks()) return false;  // it is the parent's
    bool worth_telling = until_.held_by(holder_clock_now);
    const auto core = finish();
    std::unique_lock lock(mutex_);
    if (!core) return told_;
    if (lost_) worth_telling = grants.size() > 1 && means_lost(lost_->code);
    lock.unlock();
    core->keeper.remove(key);
    if (!worth_telling) return false;
    const bool told = core->release(grants, session, std::min(core->timeout, release_max));
    lock.lock();
    return told_ = told;
}

}  // namespace holdfast
