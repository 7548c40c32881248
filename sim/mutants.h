#pragma once

#include <string_view>
#include <vector>

namespace holdfast::sim {

/// A rule that can be switched off (tests/mutants), to show that the simulator notices.
struct MutantInfo {
    std::string_view name;  ///< several with `+` between them are switched off together
    std::string_view rule;
    /// Empty if worlds must catch it. Otherwise the reason why they do not; tests/sim/schedules_test.cpp and
    /// tests/consensus/mutants_test.cpp show which rules cover for it.
    std::string_view not_seen_because;
};
const std::vector<MutantInfo>& mutants();

/// Switches a mutant on, or all off with an empty name. Returns false in a build without mutants, as shipped.
bool set_mutant(std::string_view name);

}  // namespace holdfast::sim
