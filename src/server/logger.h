#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spdlog {
class logger;
}

namespace holdfast::server {

struct LogOptions {
    std::string level = "info";
    bool json = false;
};

/// The server's log, on stderr: one line per start, stop, recovery and failure, never per request. Plain text for
/// people, or one JSON object per line for machines.
class Logger {
 public:
    /// Error `invalid_argument` if the level is unknown.
    static Result<Logger> open(const LogOptions& options);

    void info(std::string_view message);
    void warn(std::string_view message);
    void error(std::string_view message);

 private:
    explicit Logger(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

    std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace holdfast::server
