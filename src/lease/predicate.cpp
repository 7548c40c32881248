#include "lease/predicate.h"

#include <algorithm>

namespace holdfast::lease {
namespace {

constexpr std::array<std::string_view, all_predicates.size()> names{"PROVIDES", "CONSUMES",   "MUTATES",
                                                                    "DELETES",  "DEPENDS_ON", "RENAMES"};

}  // namespace

std::string_view to_string(Predicate predicate) {
    return names[static_cast<std::size_t>(predicate)];
}

std::optional<Predicate> parse_predicate(std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return all_predicates[static_cast<std::size_t>(found - names.begin())];
}

bool compatible(Predicate a, Predicate b) {
    const auto reads = [](Predicate p) { return p == Predicate::consumes || p == Predicate::depends_on; };
    if (a == Predicate::provides) return reads(b);
    if (b == Predicate::provides) return reads(a);
    return reads(a) && reads(b);
}

bool PredicateSet::admits(Predicate predicate) const {
    return std::all_of(all_predicates.begin(), all_predicates.end(),
                       [&](Predicate member) { return !contains(member) || compatible(member, predicate); });
}

}  // namespace holdfast::lease
