#pragma once

#include <cstdint>

#include "base/result.h"

namespace holdfast {

/// Whether a server can begin at this time of the wall clock: fencing tokens begin with it (G3), and times are kept in
/// nanoseconds, of which there are enough from 1970 to 2262. Error `clock_unusable`.
Result<void> check_wall_clock(std::int64_t wall_ms);

}  // namespace holdfast
