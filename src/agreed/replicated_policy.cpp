#include "agreed/replicated_policy.h"

#include <algorithm>

namespace holdfast::agreed {

PolicyInForce::PolicyInForce(Parts parts)
    : local_(parts.local),
      local_ttl_max_(parts.local_ttl_max),
      told_ttl_max_(parts.local_ttl_max),
      agreed_(std::move(parts.agreed)),
      on_told_(std::move(parts.on_told)),
      behind_(agreed_.ttl_max != local_ttl_max_) {}

void PolicyInForce::agree(lease::Policy policy) {
    agreed_ = std::move(policy);
    behind_ = behind_ || agreed_.ttl_max != told_ttl_max_;
    tell();
}

lease::Policy PolicyInForce::in_force() const {
    lease::Policy policy = agreed_;
    policy.ttl_max = std::min(policy.ttl_max, local_ttl_max_);
    policy.ttl_default = std::min(policy.ttl_default, policy.ttl_max);
    policy.ttl_min = std::min(policy.ttl_min, policy.ttl_max);
    return policy;
}

void PolicyInForce::tell() {
    if (!behind_ || telling_ || now_ < not_before_) return;
    behind_ = false;
    telling_ = true;
    // From the moment a shorter maximum is requested, the local state may hold it at any time.
    local_ttl_max_ = std::min(local_ttl_max_, agreed_.ttl_max);
    told_ttl_max_ = agreed_.ttl_max;
    local_.save_ttl_max(told_ttl_max_,
                        [this, ttl_max = told_ttl_max_](const Result<void>& outcome) { told(ttl_max, outcome); });
}

void PolicyInForce::told(Duration ttl_max, const Result<void>& outcome) {
    telling_ = false;
    if (outcome) {
        local_ttl_max_ = ttl_max;
    } else {
        behind_ = true;
        not_before_ = now_ + pause_after_failure;
    }
    on_told_(outcome);
    tell();
}

void PolicyInForce::advance(Instant now) {
    now_ = now;
    tell();
}

Instant PolicyInForce::next_due() const {
    return behind_ && !telling_ ? not_before_ : Instant::max();
}

}  // namespace holdfast::agreed
