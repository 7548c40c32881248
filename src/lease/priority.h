#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace holdfast::core {

/// How old an agent is: a timestamp in milliseconds; lower is older (G5).
using Priority = std::int64_t;

/// The next one after it, if there is any.
constexpr Priority later_than(Priority priority) {
    return priority < std::numeric_limits<Priority>::max() ? priority + 1 : priority;
}

/// Where a request stands among all that want the same. A plain request, of a holder that is no agent, is as old as its
/// arrival.
struct Rank {
    Priority priority = 0;
    bool agent = false;
    std::string_view holder;
    std::uint64_t arrival = 0;  ///< the number of the request
};

/// True if `a` comes before `b` in a queue: by priority, agents before plain requests, agents by id, then by arrival.
/// Of two different requests one is always older, so there is no tie that could loop.
bool older(const Rank& a, const Rank& b);

}  // namespace holdfast::core
