#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace holdfast {

/// The longest TTL that a lease alive now may have been granted with: how long a start after an unclean stop must wait
/// (S1). Knows when the durable bound may come down.
///
/// Why it is right. The bound is raised on disk before a policy with a longer maximum takes effect, so no lease ever
/// has more than the bound on disk. After the maximum was lowered, grants and renewals get at most the new one (R1
/// passes the policy, R7), and every lease from before has ended one old bound later (T2): only then does the bound
/// come down. The same holds after a start: leases granted by earlier incarnations, and the wait for them, are over one
/// bound later.
class LongestTtl {
 public:
    /// `ttl_max` is in force from the first advance() on. `least` holds regardless of the policy: the longest TTL that
    /// any member of a cluster may grant.
    LongestTtl(Duration bound, Duration ttl_max, Duration least = {})
        : bound_(bound), ttl_max_(std::max(ttl_max, least)), least_(least) {}

    /// A policy with this maximum was made durable and took effect, before the next advance().
    void policy_took_effect(Duration ttl_max);

    /// Sets the time. A change counts from the first reading after it, which is late, never early.
    void advance(Instant now);

    /// The value to which the durable bound may come down at the last reading; nullopt if it must stay.
    std::optional<Duration> may_lower_to(Instant now) const;
    void lowered(Duration bound) { bound_ = bound; }

    /// When may_lower_to() will have a value; Instant::max() if it will not.
    Instant due() const;

 private:
    Duration bound_;
    Duration ttl_max_;
    Duration least_;
    std::optional<Instant> since_;
};

}  // namespace holdfast
