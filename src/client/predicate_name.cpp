#include <holdfast/predicate.h>

#include "lease/predicate.h"

namespace holdfast {

namespace {

constexpr core::Predicate core_predicate(Predicate predicate) {
    return static_cast<core::Predicate>(predicate);
}
static_assert(core_predicate(Predicate::provides) == core::Predicate::provides);
static_assert(core_predicate(Predicate::consumes) == core::Predicate::consumes);
static_assert(core_predicate(Predicate::mutates) == core::Predicate::mutates);
static_assert(core_predicate(Predicate::deletes) == core::Predicate::deletes);
static_assert(core_predicate(Predicate::depends_on) == core::Predicate::depends_on);
static_assert(core_predicate(Predicate::renames) == core::Predicate::renames);

}  // namespace

const char* to_string(Predicate predicate) {
    if (static_cast<std::size_t>(predicate) >= core::all_predicates.size()) return "UNKNOWN";
    return core::to_string(core_predicate(predicate)).data();  // a literal, hence null-terminated
}

std::optional<Predicate> predicate_of(std::string_view name) {
    const auto known = core::parse_predicate(name);
    if (!known) return std::nullopt;
    return static_cast<Predicate>(*known);
}

}  // namespace holdfast
