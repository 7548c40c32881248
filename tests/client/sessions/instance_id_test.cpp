#include "client/sessions/instance_id.h"

#include <gtest/gtest.h>

namespace holdfast::client::sessions {
namespace {

TEST(InstanceId, is_fresh_each_time_and_has_its_form) {
    const auto one = fresh_instance_id();
    EXPECT_TRUE(is_instance_id(one)) << one;
    EXPECT_NE(one, fresh_instance_id());
    EXPECT_TRUE(is_instance_id("web-7-1794789536456957946-b7a0e658"));
    for (const char* bad :
         {"", "host", "host-1-2", "-1-b7a0e658", "host-x-b7a0e658", "host-1-b7a0e65z", "a b-1-b7a0e658"})
        EXPECT_FALSE(is_instance_id(bad)) << bad;
}

TEST(SessionId, is_a_uuid) {
    EXPECT_TRUE(is_uuid("123e4567-e89b-12d3-a456-426614174000"));
    EXPECT_TRUE(is_uuid("123E4567-E89B-12D3-A456-426614174000"));
    for (const char* bad : {"", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-4266141740000",
                            "123e4567xe89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-42661417400g"})
        EXPECT_FALSE(is_uuid(bad)) << bad;
}

}  // namespace
}  // namespace holdfast::client::sessions
