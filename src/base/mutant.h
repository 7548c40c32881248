#pragma once

#include <string_view>

namespace holdfast {

/// A rule that can be switched off, so that a test can be shown to notice. Each place asks by a name of its own; the
/// names are listed in tests/scenarios/mutants_test.cpp with what must catch them.
///
/// In what users run this is the constant false and costs nothing. Only the test that hunts mutants is built with
/// HOLDFAST_MUTANTS.
#ifdef HOLDFAST_MUTANTS
inline std::string_view active_mutant;
inline bool mutant(std::string_view name) {
    return name == active_mutant;
}
#else
constexpr bool mutant(std::string_view) {
    return false;
}
#endif

}  // namespace holdfast
