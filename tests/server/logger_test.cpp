#include "server/logger.h"

#include <gtest/gtest.h>

namespace holdfast::server {
namespace {

std::string logged(bool json, const std::string& message) {
    testing::internal::CaptureStderr();
    auto log = Logger::open({.level = "info", .json = json});
    log->warn(message);
    return testing::internal::GetCapturedStderr();
}

TEST(Logger, lets_nothing_through_that_steers_a_terminal_or_passes_for_a_line) {
    const std::string foreign = "name \x1b[2J\u009b\u202e\n2026-01-01 info: all is well";
    const std::string text = logged(false, foreign);
    EXPECT_TRUE(text.ends_with("Z warning: name \\x1b[2J\\u009b\\u202e\\x0a2026-01-01 info: all is well\n")) << text;
    const std::string json = logged(true, foreign);
    EXPECT_TRUE(json.ends_with(R"("message":"name \u001b[2J\u009b\u202e\n2026-01-01 info: all is well"})"
                               "\n"))
        << json;
}

}  // namespace
}  // namespace holdfast::server
