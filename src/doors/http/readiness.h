#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace holdfast {

/// Why a server is not as it should be: a stable code, a sentence that says what to do, and how long it is known to
/// last.
struct Trouble {
    std::string code;
    std::string reason;
    std::optional<Duration> left = {};
    bool grants = false;  ///< leases are granted all the same
};

/// A number for GET /metrics.
struct MetricNumber {
    const char* name;
    const char* help;
    double value = 0;
    bool counts_up = false;
    std::map<std::string, std::string> labels = {};
};
using MetricNumbers = std::vector<MetricNumber>;

}  // namespace holdfast
