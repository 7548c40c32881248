#include "net/write_progress.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

constexpr Duration timeout = 60s;

TEST(WriteProgress, gives_a_reader_the_timeout_for_every_16_kibibytes_and_the_rest) {
    const WriteProgress::Clock::time_point start{};
    WriteProgress progress;
    EXPECT_FALSE(progress.is_late(start + 1h, timeout)) << "nothing is waiting";
    progress.begin(start + 1h);
    EXPECT_FALSE(progress.is_late(start + 1h + 59s, timeout));
    EXPECT_TRUE(progress.is_late(start + 1h + 60s, timeout));
    progress.sent(16 * 1024, start + 1h + 50s);
    EXPECT_FALSE(progress.is_late(start + 1h + 109s, timeout));
    EXPECT_TRUE(progress.is_late(start + 1h + 110s, timeout));
    progress.end();
    EXPECT_FALSE(progress.is_late(start + 9h, timeout));
}

TEST(WriteProgress, does_not_count_a_byte_now_and_then) {
    const WriteProgress::Clock::time_point start{};
    WriteProgress progress;
    progress.begin(start);
    for (int i = 1; i <= 60; ++i)
        progress.sent(1, start + i * 1s);
    EXPECT_TRUE(progress.is_late(start + 60s, timeout));
}

}  // namespace
}  // namespace holdfast::net
