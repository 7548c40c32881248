#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace holdfast::lease {

/// The age of an agent: a timestamp in milliseconds; lower is older (G5).
using Priority = std::int64_t;

/// The next younger priority; saturates at the maximum.
constexpr Priority later_than(Priority priority) {
    return priority < std::numeric_limits<Priority>::max() ? priority + 1 : priority;
}

/// The order of a request among all requests for the same resource. The priority of a plain request, from a holder that
/// is not an agent, is its arrival time.
struct Rank {
    Priority priority = 0;
    bool agent = false;
    std::string_view holder;
    std::uint64_t arrival = 0;  ///< the request number
};

/// True if `a` comes before `b` in a queue: by priority, agents before plain requests, agents by id, then by arrival.
/// The order is total: of two different requests one is always older.
inline bool older(const Rank& a, const Rank& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.agent != b.agent) return a.agent;
    if (a.agent && a.holder != b.holder) return a.holder < b.holder;
    return a.arrival < b.arrival;
}

}  // namespace holdfast::lease
