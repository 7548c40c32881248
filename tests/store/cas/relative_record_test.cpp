#include "store/cas/relative_record.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace holdfast::store::cas {
namespace {

TEST(RelativeRecord, brings_what_was_left_and_no_less) {  // Q6
    lease::Record record;
    lease::Lease& lease = record.leases.emplace_back();
    lease.acquired_at = Instant{90s};
    lease.expires_at = Instant{130s};
    lease.progress = lease::Progress{3, Instant{95s}};
    record.ended.push_back({7, lease::Ending::released, Instant{80s}});
    record.waiters.push_back({.id = 1, .until = Instant{105s}, .holder = {}, .session = {}});
    record.reserved.push_back({lease, Instant{145s}});
    record.past.push_back({"bob", Instant{70s}, 60s});
    const lease::Record arrived = to_absolute(to_relative(record, Instant{100s}), Instant{5000s});
    EXPECT_EQ(arrived.leases[0].expires_at, Instant{5030s});
    EXPECT_EQ(arrived.leases[0].acquired_at, Instant{4990s});
    EXPECT_EQ(arrived.leases[0].progress->since, Instant{4995s});
    EXPECT_EQ(arrived.ended[0].at, Instant{4980s});
    EXPECT_EQ(arrived.waiters[0].until, Instant{5005s});
    EXPECT_EQ(arrived.reserved[0].until, Instant{5045s});
    EXPECT_EQ(arrived.past[0].until, Instant{4970s});
    EXPECT_EQ(to_absolute(to_relative(record, Instant{100s}), Instant{100s}), record);
}

TEST(RelativeRecord, stops_at_the_ends_of_time) {
    lease::Record record;
    record.waiters.push_back({.id = 1, .until = Instant::max(), .holder = {}, .session = {}});
    EXPECT_EQ(to_absolute({record}, Instant{5s}).waiters[0].until, Instant::max());
    record.waiters[0].until = Instant::min();
    EXPECT_EQ(to_relative(record, Instant{5s}).record.waiters[0].until, Instant::min());
}

RC_GTEST_PROP(ClockRates, keep_a_lease_until_the_slowest_holder_has_stopped_by_the_fastest_clock, ()) {  // Q7
    const double rho = *rc::gen::inRange(0, 400) / 1000.0;
    const Duration asked{*rc::gen::inRange<Duration::rep>(1, 90'000'000'000'000)};
    const ClockRates rates(rho);
    const double holder_stops = static_cast<double>(asked.count()) / (1 - rho);
    const double kept_until = static_cast<double>(rates.kept(asked).count()) / (1 + rho);
    RC_ASSERT(kept_until >= holder_stops - 0.1);
    RC_ASSERT(rates.usable(rates.kept(asked)) == asked);
}

RC_GTEST_PROP(ClockRates, do_not_wear_a_record_away, ()) {
    const ClockRates rates(*rc::gen::inRange(0, 400) / 1000.0);
    const Duration kept{*rc::gen::inRange<Duration::rep>(1, 90'000'000'000'000)};
    const Duration again = rates.kept(rates.usable(kept));
    RC_ASSERT(again >= kept);
    RC_ASSERT(rates.kept(rates.usable(again)) == again);
}

TEST(ClockRates, leave_the_past_and_the_far_future_alone) {
    const ClockRates rates(0.01);
    lease::Record record;
    lease::Lease& lease = record.leases.emplace_back();
    lease.acquired_at = Instant{90s};
    lease.expires_at = Instant{110s};
    record.waiters.push_back({.id = 1, .until = Instant::max(), .holder = {}, .session = {}});
    rates.to_kept(record, Instant{100s});
    EXPECT_EQ(record.leases[0].acquired_at, Instant{90s});
    EXPECT_EQ(record.leases[0].expires_at, Instant{100s} + rates.kept(10s));
    EXPECT_EQ(record.waiters[0].until, Instant::max());
    rates.to_usable(record, Instant{100s});
    EXPECT_EQ(record.leases[0].expires_at, Instant{110s});
}

}  // namespace
}  // namespace holdfast::store::cas
