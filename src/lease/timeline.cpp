#include "lease/timeline.h"

#include <algorithm>

namespace holdfast::core {

Timeline timeline_of(const Lease& lease, Instant now) {
    const Duration ttl = lease.ttl;
    const Duration left = lease.active(now) ? lease.expires_at - now : Duration::zero();
    const auto before_end = [&](Duration margin) { return std::max(left - margin, Duration::zero()); };
    return {before_end(ttl - ttl / 3), before_end(ttl / 3), before_end(ttl / 6), left};
}

}  // namespace holdfast::core
