#pragma once

#include <string_view>

namespace holdfast {

/// A rule that can be switched off, so that a test can be shown to notice. Each place asks by a name of its own; the
/// names are listed in tests/scenarios/mutants_test.cpp with what must catch them.
///
/// Several at once are named with `+` between them: two rules may each be reason enough, and only without both does
/// something go wrong.
///
/// In what users run this is the constant false and costs nothing. Only the test that hunts mutants is built with
/// HOLDFAST_MUTANTS.
#ifdef HOLDFAST_MUTANTS
inline std::string_view active_mutant;
inline bool mutant(std::string_view name) {
    if (active_mutant.size() <= name.size()) return name == active_mutant;
    for (std::string_view rest = active_mutant;;) {
        const auto end = rest.find('+');
        if (rest.substr(0, end) == name) return true;
        if (end == std::string_view::npos) return false;
        rest.remove_prefix(end + 1);
    }
}
#else
constexpr bool mutant(std::string_view) {
    return false;
}
#endif

}  // namespace holdfast
