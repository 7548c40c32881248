#include "server/wall_clock.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(WallClock, from_1970_to_2262_is_good_to_begin_with) {
    for (const std::int64_t good : {std::int64_t{0}, std::int64_t{1'795'000'000'000}, std::int64_t{9'223'372'036'853}})
        EXPECT_TRUE(check_wall_clock(good)) << good;
    for (const std::int64_t bad :
         {std::int64_t{-1}, std::int64_t{9'223'372'036'854}, std::int64_t{253'402'300'800'000}}) {
        const auto checked = check_wall_clock(bad);
        ASSERT_FALSE(checked) << bad;
        EXPECT_EQ(checked.error().code, "clock_unusable");
    }
}

}  // namespace
}  // namespace holdfast
