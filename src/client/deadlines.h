#pragma once

#include "base/time.h"
#include "lease/skew_margin.h"
#include "lease/timeline.h"

namespace holdfast {

/// When a holder should do what, on its own clock. renew < soft < hard < end, unless the lease was over before it
/// began.
struct Deadlines {
    HolderInstant renew;
    HolderInstant soft;
    HolderInstant hard;
    HolderInstant end;  ///< from here on the lease is not held

    bool operator==(const Deadlines&) const = default;
};

/// A request that was sent and the timeline its answer brought.
struct Grounds {
    HolderInstant sent_at;
    core::Timeline timeline;
    Duration ttl{};
};

/// Counts from the moment the request was *sent*, whenever the answer came (T3). A TTL so short that the margin eats
/// into the server's timeline squeezes the other deadlines in proportion, so that their order holds.
Deadlines deadlines_of(const Grounds& grounds);

/// What holds for both: the earlier of each.
Deadlines earlier_of(const Deadlines& one, const Deadlines& other);

}  // namespace holdfast
