#include "statefile/longest_ttl.h"

#include <algorithm>

namespace holdfast {

void LongestTtl::policy_took_effect(Duration ttl_max) {
    ttl_max = std::max(ttl_max, least_);
    bound_ = std::max(bound_, ttl_max);
    if (ttl_max == ttl_max_) return;
    ttl_max_ = ttl_max;
    since_.reset();
}

void LongestTtl::advance(Instant now) {
    if (!since_) since_ = now;
}

std::optional<Duration> LongestTtl::may_lower_to(Instant now) const {
    if (now < due()) return std::nullopt;
    return ttl_max_;
}

Instant LongestTtl::due() const {
    if (!since_ || ttl_max_ >= bound_) return Instant::max();
    return *since_ + bound_;
}

}  // namespace holdfast
