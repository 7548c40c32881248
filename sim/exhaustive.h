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
    unsigned early_timers = 1;  ///< timers that fire while messages are under way
    unsigned timers = 4;        ///< timers in one execution
    std::uint64_t max_states = 100'000;
    std::function<bool()> stopped = {};  ///< checked at every state
};

/// Statistics of a search.
struct Searched {
    std::uint64_t states = 0;      ///< distinct: two orders with the same steps at each node are one state
    std::uint64_t executions = 0;  ///< that were run to their end
    std::uint64_t steps = 0;       ///< taken, including those of replays
    std::size_t longest = 0;
    bool complete = true;  ///< false: there were more than max_states, or the search was stopped
    std::uint64_t granted_none = 0, granted_one = 0, unanswered = 0;  ///< executions by result
    std::optional<Violation> violation;
    std::vector<std::string> steps_to_it;
};

/// Searches all executions of two acquires of one resource, through two of three nodes: every order in which messages
/// arrive, with lost messages, crashes with a restart, and early timers within the bounds. The search is depth first,
/// on the code that ships. Nodes cannot be copied, so each branch is replayed from the beginning.
///
/// Two orders that differ only in which node was first are the same, since a node depends only on its own events.
Searched search(const SearchBounds& bounds);

}  // namespace holdfast::sim
