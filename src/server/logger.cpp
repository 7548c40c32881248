#include "server/logger.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/json_writer.h"
#include "base/printable.h"

namespace holdfast::server {
namespace {

/// The message as a JSON string, quotes included.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        std::string text;
        JsonWriter(text).text({message.payload.data(), message.payload.size()});
        out.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonMessage>(); }
};

/// The message on one line, with control characters from untrusted text escaped.
class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        const std::string text = printable({message.payload.data(), message.payload.size()});
        out.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PrintableMessage>(); }
};

std::unique_ptr<spdlog::formatter> formatter(bool json) {
    auto made = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    made->add_flag<JsonMessage>('*').add_flag<PrintableMessage>('&');
    made->set_pattern(json ? R"({"at":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})"
                           : "%Y-%m-%dT%H:%M:%S.%eZ %l: %&");
    return made;
}

}  // namespace

Result<Logger> Logger::open(const LogOptions& options) {
    const auto level = spdlog::level::from_str(options.level);
    if (level == spdlog::level::off && options.level != "off")
        return Error{
            Code::invalid_argument,
            "'" + options.level + "' is not a log level; say trace, debug, info, warning, error, critical or off"};
    auto logger = std::make_shared<spdlog::logger>("holdfast", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_level(level);
    logger->set_formatter(formatter(options.json));
    return Logger(std::move(logger));
}

void Logger::info(std::string_view message) {
    logger_->info("{}", message);
}

void Logger::warn(std::string_view message) {
    logger_->warn("{}", message);
}

void Logger::error(std::string_view message) {
    logger_->error("{}", message);
}

}  // namespace holdfast::server
