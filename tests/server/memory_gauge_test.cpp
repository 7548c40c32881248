#include "server/memory_gauge.h"

#include <gtest/gtest.h>

#include "server/memory_watch.h"

namespace holdfast::server {
namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr Instant start{1000s};

TEST(MemoryGauge, is_full_before_the_limit_and_until_there_is_some_room) {
    MemoryGauge gauge(1000 * mib);
    gauge.read({949 * mib, 10}, start);
    EXPECT_FALSE(gauge.full());
    gauge.read({950 * mib, 10}, start + 10ms);
    EXPECT_TRUE(gauge.full());
    EXPECT_TRUE(gauge.wants_trim(start + 10ms)) << "some of it may be free";
    gauge.read({901 * mib, 10}, start + 20ms);
    EXPECT_TRUE(gauge.full());
    gauge.read({899 * mib, 10}, start + 30ms);
    EXPECT_FALSE(gauge.full());
}

TEST(MemoryGauge, has_room_again_when_many_leases_have_ended_though_their_memory_stays) {
    MemoryGauge gauge(1000 * mib);
    gauge.read({950 * mib, 100'000}, start);
    ASSERT_TRUE(gauge.full());
    gauge.read({950 * mib, 80'000}, start + 1s);
    EXPECT_TRUE(gauge.full());
    gauge.read({950 * mib, 70'000}, start + 2s);
    EXPECT_FALSE(gauge.full());
    gauge.read({950 * mib, 99'000}, start + 3s);
    EXPECT_FALSE(gauge.full()) << "what was free is used again";
    gauge.read({975 * mib, 120'000}, start + 4s);
    EXPECT_TRUE(gauge.full());
}

TEST(MemoryGauge, gives_nothing_back_while_memory_grows_or_hardly_changes) {
    MemoryGauge gauge(10'000 * mib);
    Instant now = start;
    for (std::uint64_t resident = 20; resident < 200; resident += 10, now += 1s) {
        gauge.read({resident * mib, resident}, now);
        EXPECT_FALSE(gauge.wants_trim(now)) << resident;
    }
}

TEST(MemoryGauge, gives_back_once_when_memory_has_stopped_to_grow) {
    MemoryGauge gauge(10'000 * mib);
    gauge.read({20 * mib, 0}, start);
    EXPECT_EQ(gauge.next_due(start), Instant::max()) << "nobody wakes an idle server";
    gauge.read({200 * mib, 50'000}, start + 1s);
    EXPECT_EQ(gauge.next_due(start + 1s), start + 2s);
    gauge.read({200 * mib, 50'000}, start + 2s);
    ASSERT_TRUE(gauge.wants_trim(start + 2s));
    gauge.trimmed({190 * mib, 50'000});
    gauge.read({190 * mib, 50'000}, start + 60s);
    EXPECT_FALSE(gauge.wants_trim(start + 60s)) << "it is in use";
    EXPECT_EQ(gauge.next_due(start + 60s), Instant::max());
}

TEST(MemoryGauge, gives_back_when_many_leases_have_ended_but_not_all_the_time) {
    MemoryGauge gauge(10'000 * mib);
    gauge.read({200 * mib, 50'000}, start);
    gauge.read({200 * mib, 40'000}, start + 1s);
    EXPECT_FALSE(gauge.wants_trim(start + 1s));
    gauge.read({200 * mib, 30'000}, start + 2s);
    ASSERT_TRUE(gauge.wants_trim(start + 2s));
    gauge.trimmed({150 * mib, 30'000});
    gauge.read({150 * mib, 1'000}, start + 3s);
    EXPECT_FALSE(gauge.wants_trim(start + 3s));
    EXPECT_LT(gauge.next_due(start + 3s), Instant::max());
    EXPECT_TRUE(gauge.wants_trim(start + 12s));
}

TEST(MemoryWatch, tells_when_the_process_has_more_than_it_may) {
    std::vector<bool> told;
    MemoryWatch watch(
        {.most = mib, .kept = [] { return std::size_t{0}; }, .on_full = [&](bool full) { told.push_back(full); }});
    watch.advance(start);
    watch.advance(start + 1ms);
    EXPECT_EQ(told, std::vector<bool>{true}) << "no process is that small";
}

TEST(MemoryWatch, takes_a_share_of_the_machine_if_it_is_not_told) {
    EXPECT_GT(default_memory_limit(), 16 * mib);
    EXPECT_LT(default_memory_limit(), std::uint64_t{1} << 50);
}

}  // namespace
}  // namespace holdfast::server
