#pragma once

#include <string_view>
#include <vector>

namespace holdfast::sim {

/// A rule that can be switched off (tests/mutants), so that the simulator can be seen to notice.
struct MutantInfo {
    std::string_view name;  ///< several with `+` between them are switched off together
    std::string_view rule;
    /// Empty: it must be caught in worlds. Else why none of them shows it; tests/sim/schedules_test.cpp and
    /// tests/consensus/mutants_test.cpp show what stands in for it.
    std::string_view not_seen_because;
};
const std::vector<MutantInfo>& mutants();

/// Switches one on, or all off with an empty name. False in a build that has none: what ships.
bool set_mutant(std::string_view name);

}  // namespace holdfast::sim
