#include "client/lease_state.h"

#include <algorithm>
#include <utility>

#include "client/callbacks.h"
#include "client/client_core.h"
#include "client/keeper.h"

namespace holdfast {

namespace {

HolderInstant instant(std::int64_t count) {
    return HolderInstant{Duration{count}};
}

}  // namespace

Lease::State::State(std::vector<Grant> granted, std::string in_session, const lease::HolderDeadlines& deadlines,
                    std::shared_ptr<Client::Core> owner)
    : grants(std::move(granted)), session(std::move(in_session)), until_(deadlines.end()), core_(std::move(owner)) {
    set_soft_and_hard(deadlines);
}

void Lease::State::set_soft_and_hard(const lease::HolderDeadlines& deadlines) noexcept {
    soft_.store(deadlines.soft().time_since_epoch().count(), std::memory_order_relaxed);
    hard_.store(deadlines.hard().time_since_epoch().count(), std::memory_order_relaxed);
}

/// Loads the deadlines before it reads the clock, as HeldUntil does: the remaining time is never overstated.
Remaining Lease::State::remaining() noexcept {
    const HolderInstant end = until_.end();
    const HolderInstant soft = instant(soft_.load(std::memory_order_relaxed));
    const HolderInstant hard = instant(hard_.load(std::memory_order_relaxed));
    if (!held()) return {};
    const HolderInstant now = holder_clock_now();
    const auto left = [now](HolderInstant until) { return std::max(until - now, Duration::zero()); };
    return {left(soft), left(hard), left(end)};
}

bool Lease::State::move(const lease::HolderDeadlines& deadlines, HolderInstant now) noexcept {
    if (!until_.move(deadlines.end(), now)) return false;
    set_soft_and_hard(deadlines);
    return true;
}

bool Lease::State::change(Outcome outcome) {
    const std::lock_guard lock(mutex_);
    const bool news = outcome_.exchange(outcome) != outcome || outcome == Outcome::granted;
    if (!news || !on_change_) return false;
    untold_ = outcome;
    return !std::exchange(queued_, true);
}

bool Lease::State::lose(Failure failure) {
    until_.finish();
    const std::lock_guard lock(mutex_);
    if (lost_ || !core_) return false;
    lost_ = std::move(failure);
    return on_lost_ && !std::exchange(queued_, true);
}

std::optional<Failure> Lease::State::lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
}

void Lease::State::call_back() noexcept {
    std::unique_lock lock(mutex_);
    queued_ = false;
    const auto change = std::exchange(untold_, std::nullopt);
    auto on_lost = lost_ ? std::exchange(on_lost_, nullptr) : nullptr;
    auto on_change = change && !lost_ ? on_change_ : nullptr;
    if (!on_lost && !on_change) return;
    caller_ = std::this_thread::get_id();
    lock.unlock();
    if (on_lost)
        (*on_lost)(*lost_);
    else
        (*on_change)(*change);
    on_lost = nullptr;  // destroys its captures before release() continues
    on_change = nullptr;
    lock.lock();
    caller_ = {};
    called_.notify_all();
}

/// In a child made by fork() there are no callbacks, and the thread that held the lock does not exist.
void Lease::State::on_lost(std::function<void(const Failure&)> callback) {
    if (born_ != client::forks() || !callback) return;
    std::unique_lock lock(mutex_);
    if (!core_) return;
    if (lost_) {
        lock.unlock();
        return callback(*lost_);
    }
    core_->keeper.start_callbacks();
    on_lost_ = std::make_shared<const std::function<void(const Failure&)>>(std::move(callback));
}

void Lease::State::on_change(std::function<void(Outcome)> callback) {
    if (born_ != client::forks()) return;
    std::shared_ptr<const std::function<void(Outcome)>> dropped;
    const std::lock_guard lock(mutex_);
    if (!core_) return;
    if (callback) core_->keeper.start_callbacks();
    auto kept = callback ? std::make_shared<const std::function<void(Outcome)>>(std::move(callback)) : nullptr;
    dropped = std::exchange(on_change_, std::move(kept));
}

/// Ends the lease for this process. Returns null if that was done before. Waits for a running callback of the lease,
/// unless called from a callback: two callbacks that release each other's lease would deadlock.
std::shared_ptr<Client::Core> Lease::State::finish() {
    until_.finish();
    std::pair<decltype(on_lost_), decltype(on_change_)> dropped;
    std::unique_lock lock(mutex_);
    dropped = {std::exchange(on_lost_, nullptr), std::exchange(on_change_, nullptr)};
    auto core = std::exchange(core_, nullptr);
    if (!client::Callbacks::is_this_thread()) called_.wait(lock, [this] { return caller_ == std::thread::id{}; });
    return core;
}

void Lease::State::abandon() {
    if (born_ != client::forks()) return;  // it is the parent's
    if (const auto core = finish()) core->keeper.remove(key);
}

/// Notifies the authority if the lease was still held, or if it was lost because of one grant and the others may be
/// active.
bool Lease::State::release() {
    if (born_ != client::forks()) return false;  // it is the parent's
    bool worth_telling = until_.held_by(holder_clock_now);
    const auto core = finish();
    std::unique_lock lock(mutex_);
    if (!core) return told_;
    if (lost_) worth_telling = grants.size() > 1 && client::means_lost(ErrorCode::named(lost_->code));
    lock.unlock();
    core->keeper.remove(key);
    if (!worth_telling) return false;
    const bool told = core->release(grants, session, std::min(core->timeout, client::max_release));
    lock.lock();
    return told_ = told;
}

}  // namespace holdfast
