#pragma once

#include <algorithm>

#include "base/time.h"
#include "lease/skew_margin.h"
#include "lease/timeline.h"

namespace holdfast::client {

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
    lease::Timeline timeline;
    Duration ttl{};
};

/// Counts from the moment the request was *sent*, no matter when the answer arrived (T3). If the TTL is so short that
/// the margin cuts into the server's timeline, the other deadlines shrink in proportion, so that their order holds.
inline Deadlines deadlines_of(const Grounds& grounds) {
    const auto& timeline = grounds.timeline;
    const Duration end_in = timeline.expires_in - lease::skew_margin(grounds.ttl);
    const Duration hard_in = std::min(timeline.hard_terminate_in, end_in - end_in / 8);
    const Duration soft_in = std::min(timeline.soft_terminate_in, hard_in - hard_in / 8);
    const Duration renew_in = std::min(timeline.renew_in, soft_in / 2);
    const HolderInstant from = grounds.sent_at;
    return {from + renew_in, from + soft_in, from + hard_in, from + end_in};
}

/// The earlier of each deadline.
inline Deadlines earlier_of(const Deadlines& one, const Deadlines& other) {
    return {std::min(one.renew, other.renew), std::min(one.soft, other.soft), std::min(one.hard, other.hard),
            std::min(one.end, other.end)};
}

}  // namespace holdfast::client
