#include "client/deadlines.h"

#include <algorithm>

namespace holdfast {

Deadlines deadlines_of(const Grounds& grounds) {
    const auto& timeline = grounds.timeline;
    const Duration end_in = timeline.expires_in - skew_margin(grounds.ttl);
    const Duration hard_in = std::min(timeline.hard_terminate_in, end_in - end_in / 8);
    const Duration soft_in = std::min(timeline.soft_terminate_in, hard_in - hard_in / 8);
    const Duration renew_in = std::min(timeline.renew_in, soft_in / 2);
    const HolderInstant from = grounds.sent_at;
    return {from + renew_in, from + soft_in, from + hard_in, from + end_in};
}

Deadlines earlier_of(const Deadlines& one, const Deadlines& other) {
    return {std::min(one.renew, other.renew), std::min(one.soft, other.soft), std::min(one.hard, other.hard),
            std::min(one.end, other.end)};
}

}  // namespace holdfast
