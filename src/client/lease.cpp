#include <holdfast/lease.h>

#include <utility>

#include "base/assert.h"
#include "client/lease_state.h"

namespace holdfast {

Lease::Lease() noexcept = default;
Lease::Lease(std::shared_ptr<State> state) : state_(std::move(state)) {}
Lease::Lease(Lease&&) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
    if (this == &other) return *this;
    Lease previous(std::move(*this));
    state_ = std::move(other.state_);
    return *this;
}

Lease::~Lease() {
    try {
        release();
    } catch (...) {
        // Out of memory or threads: the lease ends by itself.
    }
}

bool Lease::held() const noexcept {
    return state_ && state_->held();
}

std::chrono::nanoseconds Lease::remaining() const noexcept {
    return timeline().end;
}

Remaining Lease::timeline() const noexcept {
    return state_ ? state_->remaining() : Remaining{};
}

Outcome Lease::state() const {
    return state_ ? state_->outcome() : Outcome::lost;
}

std::uint64_t Lease::token() const {
    HOLDFAST_ASSERT(state_ && !state_->grants.empty());
    return state_->grants.front().token;
}

const std::vector<Grant>& Lease::grants() const& {
    static const std::vector<Grant> none;
    return state_ ? state_->grants : none;
}

std::vector<Grant> Lease::grants() const&& {
    return grants();
}

void Lease::on_lost(std::function<void(const Failure&)> callback) {
    if (state_) state_->on_lost(std::move(callback));
}

void Lease::on_change(std::function<void(Outcome)> callback) {
    if (state_) state_->on_change(std::move(callback));
}

void Lease::progress(std::uint64_t count) {
    if (state_) state_->set_progress(count);
}

bool Lease::release() {
    return state_ && state_->release();
}

void Lease::abandon() {
    if (state_) state_->abandon();
}

}  // namespace holdfast
