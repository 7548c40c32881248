#include <holdfast/lease.h>
#include <holdfast/outcome.h>
#include <holdfast/predicate.h>

#include <cstddef>
#include <utility>

#include "base/assert.h"
#include "client/lease_state.h"
#include "lease/predicate.h"

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

// ---- the names of outcomes and predicates ----

const char* to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::granted:
            return "granted";
        case Outcome::busy:
            return "busy";
        case Outcome::lost:
            return "lost";
        case Outcome::uncertain:
            return "uncertain";
        case Outcome::refused:
            return "refused";
        case Outcome::unreachable:
            return "unreachable";
        case Outcome::die:
            return "die";
        case Outcome::cancelled:
            return "cancelled";
    }
    return "unknown";
}

namespace {

constexpr lease::Predicate core_predicate(Predicate predicate) {
    return static_cast<lease::Predicate>(predicate);
}
static_assert(core_predicate(Predicate::provides) == lease::Predicate::provides);
static_assert(core_predicate(Predicate::consumes) == lease::Predicate::consumes);
static_assert(core_predicate(Predicate::mutates) == lease::Predicate::mutates);
static_assert(core_predicate(Predicate::deletes) == lease::Predicate::deletes);
static_assert(core_predicate(Predicate::depends_on) == lease::Predicate::depends_on);
static_assert(core_predicate(Predicate::renames) == lease::Predicate::renames);

}  // namespace

const char* to_string(Predicate predicate) {
    if (static_cast<std::size_t>(predicate) >= lease::all_predicates.size()) return "UNKNOWN";
    return to_string(core_predicate(predicate)).data();  // a literal, hence null-terminated
}

std::optional<Predicate> predicate_of(std::string_view name) {
    const auto known = lease::parse_predicate(name);
    if (!known) return std::nullopt;
    return static_cast<Predicate>(*known);
}

}  // namespace holdfast
