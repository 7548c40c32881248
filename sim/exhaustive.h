#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/checker.h"

namespace holdfast::sim {

/// Limits of the faults and of the search.
struct SearchBounds {
    unsigned losses = 1;
    unsigned crashes = 1;
    unsigned early_timers = 1;  ///< that fire while messages are under way
    unsigned timers = 4;        ///< in all, in one execution
    std::uint64_t max_states = 100'000;
    std::function<bool()> stopped = {};  ///< asked at every state
};

/// Statistics of a search.
struct Searched {
    std::uint64_t states = 0;      ///< distinct: two orders of the same steps of each node are one
    std::uint64_t executions = 0;  ///< that ran to their end
    std::uint64_t steps = 0;       ///< taken, those of replays included
    std::size_t longest = 0;
    bool complete = true;  ///< false: there was more than max_states, or it was stopped
    std::uint64_t granted_none = 0, granted_one = 0, unanswered = 0;  ///< of the executions
    std::optional<Violation> violation;
    std::vector<std::string> steps_to_it;
};

/// Every way in which two acquires of one resource, through two of three nodes, can go: every order in which messages
/// arrive, up to so many lost, crashes with a start after them and timers that fire early. Depth first, on the code
/// that ships; it cannot be copied, so each branch is replayed from the beginning.
///
/// Two orders that differ only in which node was first are the same, since a node knows only what happened to it.
Searched search(const SearchBounds& bounds);

}  // namespace holdfast::sim
