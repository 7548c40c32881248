#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace holdfast::doors::http {

/// A problem of a server: a stable code, a sentence that says what to do, and how long it will last, if known.
struct Trouble {
    std::string code;
    std::string reason;
    std::optional<Duration> left = {};
    bool grants = false;  ///< leases are still granted
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

}  // namespace holdfast::doors::http
