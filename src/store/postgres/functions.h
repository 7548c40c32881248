#pragma once

#include <string_view>

namespace holdfast::postgres {

/// The functions of the newest schema version, with `~` for its name. They may replace those of an older version that
/// fronts are still calling: no existing name changes its parameters or its result.
extern const std::string_view functions;

}  // namespace holdfast::postgres
