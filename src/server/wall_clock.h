#pragma once

#include <cstdint>

#include "base/result.h"

namespace holdfast {

/// Checks that a server can start at this wall-clock time. Fencing tokens start from it (G3), and times are kept in
/// nanoseconds since 1970, which last until 2262. Error `clock_unusable`.
Result<void> check_wall_clock(std::int64_t wall_ms);

}  // namespace holdfast
