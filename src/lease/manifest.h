#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lease/predicate.h"
#include "lease/resource.h"

namespace holdfast::lease {

/// One operation on one resource.
struct Intent {
    std::string resource;  ///< the full name, with its namespace
    Predicate predicate = Predicate::mutates;

    bool operator==(const Intent&) const = default;
};

/// Error code `invalid_argument`, naming the field, for text that is empty, too long, not UTF-8 or has control
/// characters.
Result<void> check_resource(std::string_view resource);
Result<void> check_namespace(std::string_view name_space);
Result<void> check_holder(std::string_view holder);

/// Checks a manifest (G1), normalises each resource name and drops duplicate intents. The order is
/// kept.
Result<std::vector<Intent>> checked_manifest(std::vector<Intent> intents);

}  // namespace holdfast::lease
