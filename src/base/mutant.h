#pragma once

#include <string_view>

namespace holdfast {

/// A switch that disables a rule, to show that a test detects it. Each place uses its own name; the names are listed in
/// tests/scenarios/mutants_test.cpp with the tests that must detect them.
///
/// Several mutants are combined with `+`: two rules may protect against the same fault, which then appears only without
/// both.
///
/// In normal builds this is the constant false and costs nothing. Only the mutant tests are built with
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
