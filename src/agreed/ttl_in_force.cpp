#include "agreed/ttl_in_force.h"

#include <algorithm>
#include <utility>

namespace holdfast::agreed {

TtlInForce::TtlInForce(Parts parts)
    : disk_(parts.disk),
      stored_(parts.stored),
      agreed_(parts.agreed),
      written_(parts.stored),
      on_stored_(std::move(parts.on_stored)),
      behind_(agreed_ != stored_) {}

void TtlInForce::agree(Duration ttl_max) {
    agreed_ = ttl_max;
    behind_ = behind_ || agreed_ != written_;
    write();
}

void TtlInForce::limit(lease::Policy& policy) const {
    policy.cap_ttls(stored_);
}

void TtlInForce::write() {
    if (!behind_ || writing_ || now_ < not_before_) return;
    behind_ = false;
    writing_ = true;
    // From the moment a shorter maximum is requested, the disk may hold it at any time.
    stored_ = std::min(stored_, agreed_);
    written_ = agreed_;
    disk_.save_ttl_max(written_,
                       [this, ttl_max = written_](const Result<void>& outcome) { written(ttl_max, outcome); });
}

void TtlInForce::written(Duration ttl_max, const Result<void>& outcome) {
    writing_ = false;
    if (outcome) {
        stored_ = ttl_max;
    } else {
        behind_ = true;
        not_before_ = now_ + pause_after_failure;
    }
    on_stored_(outcome);
    write();
}

void TtlInForce::advance(Instant now) {
    now_ = now;
    write();
}

Instant TtlInForce::next_due() const {
    return behind_ && !writing_ ? not_before_ : Instant::max();
}

}  // namespace holdfast::agreed
