#pragma once

#include "base/time.h"
#include "lease/skew_margin.h"
#include "lease/timeline.h"

namespace holdfast {

/// A holder's deadlines, on its own clock. renew < soft < hard < end, unless the lease was over before it began.
struct Deadlines {
    HolderInstant renew;
    HolderInstant soft;
    HolderInstant hard;
    HolderInstant end;  ///< from here on the lease is not held

    bool operator==(const Deadlines&) const = default;
};

/// When a request was sent, and the timeline in its answer.
struct Grounds {
    HolderInstant sent_at;
    core::Timeline timeline;
    Duration ttl{};
};

/// Counts from the moment the request was *sent*, no matter when the answer arrived (T3). If the TTL is so short that
/// the margin cuts into the server's timeline, the other deadlines shrink in proportion, so that their order holds.
Deadlines deadlines_of(const Grounds& grounds);

/// The earlier of each deadline.
Deadlines earlier_of(const Deadlines& one, const Deadlines& other);

}  // namespace holdfast
