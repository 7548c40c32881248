#pragma once

#include <string_view>

namespace holdfast {

/// The rules that are switched off in this run: no name, or several with `+` between them, since two rules may protect
/// against the same fault, which then appears only without both.
inline std::string_view active_mutant;

/// Whether a rule is switched off. Only mutants.patch calls it, each place with a name of its own.
inline bool mutant(std::string_view name) {
    if (active_mutant.size() <= name.size()) return name == active_mutant;
    for (std::string_view rest = active_mutant;;) {
        const auto end = rest.find('+');
        if (rest.substr(0, end) == name) return true;
        if (end == std::string_view::npos) return false;
        rest.remove_prefix(end + 1);
    }
}

}  // namespace holdfast
