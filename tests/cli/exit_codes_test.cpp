#include "cli/exit_codes.h"

#include <gtest/gtest.h>

#include "doors/http/response.h"

namespace holdfast::cli {
namespace {

TEST(ExitCodes, follow_what_the_script_should_do_next) {
    for (const char* code : {"busy", "wait_timeout", "key_tag_mismatch", "key_race_lost"})
        EXPECT_EQ(exit_code_of(ErrorCode::named(code)), 103) << code;
    for (const char* code : {"unknown_lease", "lease_expired", "lease_released", "lease_revoked", "stale_epoch"})
        EXPECT_EQ(exit_code_of(ErrorCode::named(code)), 104) << code;
    EXPECT_EQ(exit_code_of(Code::unreachable), 105);
    EXPECT_EQ(exit_code_of(Code::die), 107);
    for (const char* code :
         {"unavailable", "store_unavailable", "recovering", "stopping", "memory_full", "storage_failed", "over_quota",
          "too_many_waiters", "no_drone", "awaiting_approval", "request_timeout", "not_connected"})
        EXPECT_EQ(exit_code_of(ErrorCode::named(code)), 108) << code;
    for (const char* code :
         {"banned", "name_refused", "ttl_too_short", "not_holder", "unknown_service", "", "from the future"})
        EXPECT_EQ(exit_code_of(ErrorCode::named(code)), 106) << code;
}

TEST(ExitCodes, of_codes_that_are_not_known_go_by_the_status_they_came_with) {
    for (const int status : {429, 502, 503, 504})
        EXPECT_EQ(exit_code_of(ErrorCode::named("from the future"), status), 108) << status;
    for (const int status : {400, 403, 409, 500})
        EXPECT_EQ(exit_code_of(ErrorCode::named("from the future"), status), 106) << status;
    EXPECT_EQ(exit_code_of(ErrorCode(Code::banned), 503), 106) << "a code that is known counts, whatever the status";
}

TEST(ExitCodes, say_later_wherever_the_server_says_503_and_never_for_a_bad_request) {
    for (std::size_t i = 0; i < answer_code_count; ++i) {
        const auto code = static_cast<Code>(i);
        if (doors::http::status_of(code) == 503) {
            EXPECT_EQ(exit_code_of(code), exit_not_now) << name_of(code);
        }
        if (doors::http::status_of(code) == 400 || doors::http::status_of(code) == 422) {
            EXPECT_EQ(exit_code_of(code), exit_refused) << name_of(code);
        }
    }
}

TEST(ExitCodes, of_several_are_later_only_if_none_is_worse) {
    EXPECT_EQ(worst_of(exit_ok, exit_not_now), exit_not_now);
    EXPECT_EQ(worst_of(exit_not_now, exit_ok), exit_not_now);
    EXPECT_EQ(worst_of(exit_not_now, exit_lost), exit_lost);
    EXPECT_EQ(worst_of(exit_refused, exit_not_now), exit_refused);
    EXPECT_EQ(worst_of(exit_refused, exit_lost), exit_refused);
}

}  // namespace
}  // namespace holdfast::cli
