#include "lease/lease.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

TEST(LeaseName, is_the_resource_and_the_token) {
    EXPECT_EQ(to_string(LeaseName{"FILE:/a", 17}), "FILE:/a#17");
    EXPECT_EQ(parse_lease_name("FILE:/a#17"), (LeaseName{"FILE:/a", 17}));
}

TEST(LeaseName, counts_the_last_hash_if_the_resource_has_one_too) {
    EXPECT_EQ(parse_lease_name("channel#general#5"), (LeaseName{"channel#general", 5}));
}

TEST(LeaseName, is_refused_without_a_resource_or_a_token_in_range) {
    for (const char* text : {"", "a", "#1", "a#", "a#0", "a#x", "a#-1", "a#9007199254740992"})
        EXPECT_FALSE(parse_lease_name(text)) << text;
    EXPECT_TRUE(parse_lease_name("a#9007199254740991"));
}

TEST(Lease, is_active_until_the_very_instant_it_expires) {  // T2
    Lease lease;
    lease.expires_at = Instant{10s};
    EXPECT_TRUE(lease.active(Instant{10s - 1ns}));
    EXPECT_FALSE(lease.active(Instant{10s}));
}

}  // namespace
}  // namespace holdfast::lease
