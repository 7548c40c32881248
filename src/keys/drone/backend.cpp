#include "keys/drone/backend.h"

#include <algorithm>
#include <utility>

namespace holdfast::keys::drone {

using lease::HolderDeadlines;

namespace {

constexpr Duration first_probe_pause = 50ms;
constexpr Duration max_probe_pause = 1s;
/// The pause between two renewal attempts; shorter if little time is left.
constexpr Duration max_retry_pause = 2s;
constexpr Duration retry_pause_min = 100ms;

/// The deadlines of an order. A controller's can only be early (K3), so any that are later than the key can last are
/// wrong. It says only by when the backend must be dead: until a renewal the key ends there.
HolderDeadlines deadlines_of(const SpawnOrder& order, HolderInstant now) {
    const KeyDeadlines& stated = order.deadlines;
    const HolderInstant hard = std::min(stated.hard, now + order.ttl * 5 / 6);
    return HolderDeadlines{HolderDeadlines::Stated{stated.renew, stated.soft, hard, hard}};
}

}  // namespace

Backend::Backend(SpawnOrder order, HolderInstant now)
    : order_(std::move(order)),
      deadlines_(deadlines_of(order_, now)),
      start_by_(now + order_.spawn.start_timeout),
      probe_pause_(first_probe_pause) {}

Backend::Needs Backend::step(HolderInstant now) {
    Needs needs = take_step(now);
    if (!state_since_) state_since_ = now;
    return needs;
}

Backend::Needs Backend::take_step(HolderInstant now) {
    Needs needs;
    if (is_terminated()) return needs;
    if (!gone_ && !launched_) {
        if (now >= deadlines_.soft())
            refuse(EndReason::key_lost, "the key had run out before anything could be started");
        needs.launch = launched_ = !gone_;
    }
    if (gone_) {
        enter(BackendState::terminated);
        needs.ended = true;
        return needs;
    }
    if (const auto why = over(now)) stop(*why, deadlines_.hard());
    if (stopping() && now >= *kill_at_) enter(BackendState::hard_terminating);
    if (std::exchange(stop_untold_, false)) needs.stop_by = kill_at_;
    if (std::exchange(deadlines_moved_, false) && !stopping())
        needs.deadlines = supervise::WorkDeadlines{deadlines_.soft(), deadlines_.hard()};
    needs.probe = probe_due(now);
    probing_ = probing_ || needs.probe;
    return needs;
}

HolderInstant Backend::renewal_at() const {
    return may_be_renewed() && !stopping() && !renewing_ ? deadlines_.renew_at() : HolderInstant::max();
}

HolderInstant Backend::next_due() const {
    if (gone_) return is_terminated() ? HolderInstant::max() : HolderInstant::min();
    if (!launched_ || stop_untold_ || deadlines_moved_) return HolderInstant::min();
    if (stopping()) return state_ == BackendState::hard_terminating ? HolderInstant::max() : *kill_at_;
    HolderInstant next = deadlines_.soft();
    if (state_ < BackendState::ready) next = std::min(next, start_by_);
    if (state_ == BackendState::waiting && !probing_) next = std::min(next, probe_at_);
    if (lifetime_end_) next = std::min(next, *lifetime_end_);
    if (idle_since_) next = std::min(next, *idle_since_ + *order_.spawn.max_idle);
    return next;
}

void Backend::refuse(EndReason reason, std::string message) {
    reason_ = reason;
    message_ = std::move(message);
    gone_ = true;
    launched_ = true;
}

void Backend::starting(std::uint16_t port) {
    port_ = port;
    enter(BackendState::starting);
}

void Backend::running(HolderInstant now) {
    if (order_.spawn.lifetime) lifetime_end_ = now + *order_.spawn.lifetime;
    probe_at_ = now;
    enter(BackendState::waiting);
    if (order_.spawn.ready.how == Readiness::How::started) probed(true, now);
}

void Backend::not_started(std::string message) {
    if (gone_) return;
    if (!reason_) reason_ = EndReason::internal;
    message_ = std::move(message);
    gone_ = true;
}

void Backend::ended(const Ending& ending) {
    if (gone_) return;
    if (!reason_) reason_ = ending.forced ? EndReason::key_lost : EndReason::exited;
    exit_code_ = ending.exit_code;
    gone_ = true;
}

void Backend::probed(bool answered, HolderInstant now) {
    probing_ = false;
    probe_at_ = now + probe_pause_;
    probe_pause_ = std::min(probe_pause_ * 3 / 2, max_probe_pause);
    if (!answered || state_ != BackendState::waiting) return;
    if (order_.spawn.max_idle) idle_since_ = now;
    enter(BackendState::ready);
}

void Backend::connections(bool any, HolderInstant now) {
    if (any && idle_since_) idle_since_ = now;
}

void Backend::terminate(Severity how, HolderInstant now) {
    if (!gone_) stop(EndReason::terminated, how == Severity::hard ? now : deadlines_.hard());
}

/// After a reply that came too late it ends at the deadlines it had.
void Backend::renewed(const HolderDeadlines& deadlines, HolderInstant now) {
    renewing_ = false;
    if (stopping() || gone_) return;
    if (deadlines_.on_answer(deadlines, now)) deadlines_moved_ = true;
}

void Backend::not_renewed(HolderInstant now) {
    renewing_ = false;
    const Duration left = deadlines_.soft() - now;
    deadlines_.on_failure(now + std::clamp<Duration>(left / 5, retry_pause_min, max_retry_pause));
}

void Backend::renew_at_once(HolderInstant now) {
    deadlines_.renew_at_once(now);
}

void Backend::lost(HolderInstant now) {
    renewing_ = false;
    if (gone_) return;
    lost_ = true;
    stop(EndReason::key_lost, now + grace_when_lost);
}

void Backend::enter(BackendState state) {
    if (state <= state_) return;
    state_ = state;
    state_since_.reset();
    ++version_;
}

void Backend::stop(EndReason reason, HolderInstant kill_at) {
    kill_at = std::min({kill_at, deadlines_.hard(), kill_at_.value_or(HolderInstant::max())});
    if (!launched_) return refuse(reason, "it was to stop before it was started");
    if (kill_at_ == kill_at) return;
    if (!reason_) reason_ = reason;
    kill_at_ = kill_at;
    stop_untold_ = true;
    enter(BackendState::terminating);
}

std::optional<EndReason> Backend::over(HolderInstant now) const {
    if (stopping()) return std::nullopt;
    if (now >= deadlines_.soft()) return EndReason::key_lost;
    if (state_ < BackendState::ready && now >= start_by_) return EndReason::start_timed_out;
    if (lifetime_end_ && now >= *lifetime_end_) return EndReason::lifetime;
    if (idle_since_ && now >= *idle_since_ + *order_.spawn.max_idle) return EndReason::idle;
    return std::nullopt;
}

bool Backend::probe_due(HolderInstant now) const {
    return state_ == BackendState::waiting && !probing_ && now >= probe_at_;
}

}  // namespace holdfast::keys::drone
