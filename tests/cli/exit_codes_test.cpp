#include "cli/exit_codes.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(ExitCodes, follow_what_the_script_should_do_next) {
    for (const char* code : {"busy", "wait_timeout", "key_tag_mismatch", "key_race_lost"})
        EXPECT_EQ(exit_code_of(code), 103) << code;
    for (const char* code : {"unknown_lease", "lease_expired", "lease_released", "lease_revoked", "stale_epoch"})
        EXPECT_EQ(exit_code_of(code), 104) << code;
    EXPECT_EQ(exit_code_of("unreachable"), 105);
    EXPECT_EQ(exit_code_of("die"), 107);
    for (const char* code :
         {"banned", "name_refused", "ttl_too_short", "recovering", "not_holder", "", "from the future"})
        EXPECT_EQ(exit_code_of(code), 106) << code;
}

}  // namespace
}  // namespace holdfast
