#pragma once

#include <algorithm>

#include "base/time.h"
#include "lease/lease.h"

namespace holdfast::lease {

/// The deadlines of a holder, as durations from the clock reading that granted or renewed the lease (T4).
/// renew_in < soft_terminate_in < hard_terminate_in < expires_in.
struct Timeline {
    Duration renew_in{};
    Duration soft_terminate_in{};
    Duration hard_terminate_in{};
    Duration expires_in{};

    bool operator==(const Timeline&) const = default;
};

/// The timeline of an intent's lease: renew at 1/3 of the TTL, stop gently at 2/3, kill at 5/6.
inline Timeline timeline_of(const Lease& lease, Instant now) {
    const Duration ttl = lease.ttl;
    const Duration left = lease.active(now) ? lease.expires_at - now : Duration::zero();
    const auto before_end = [&](Duration margin) { return std::max(left - margin, Duration::zero()); };
    return {before_end(ttl - ttl / 3), before_end(ttl / 3), before_end(ttl / 6), left};
}

}  // namespace holdfast::lease
