#pragma once

#include "doors/http/readiness.h"

namespace holdfast {

/// Memory and file descriptors of this process.
void add_process_numbers(MetricNumbers& numbers);

}  // namespace holdfast
