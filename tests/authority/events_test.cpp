#include "authority/events.h"

#include <gtest/gtest.h>

namespace holdfast::authority {
namespace {

lease::Lease lease_of(lease::Token token) {
    lease::Lease lease;
    lease.token = token;
    lease.holder = "alice";
    return lease;
}

TEST(Events, reach_every_listener_in_order_until_it_leaves) {
    Events events;
    std::vector<lease::Token> heard;
    events.publish(EventKind::granted, "r", lease_of(1), Instant{});
    const auto subscription = events.subscribe([&](const Event& event) { heard.push_back(event.token); });
    events.publish(EventKind::granted, "r", lease_of(2), Instant{});
    events.publish(EventKind::released, "r", lease_of(3), Instant{});
    events.unsubscribe(subscription);
    events.publish(EventKind::granted, "r", lease_of(4), Instant{});
    EXPECT_EQ(heard, (std::vector<lease::Token>{2, 3}));
}

TEST(Events, are_kept_for_those_who_come_back_but_only_so_many) {
    Events events{Events::Teller::authority, 4};
    for (lease::Token token = 1; token <= 6; ++token)
        events.publish(EventKind::granted, "r", lease_of(token), Instant{});
    EXPECT_TRUE(events.keeps_all_after(6));
    EXPECT_TRUE(events.keeps_all_after(2));
    EXPECT_FALSE(events.keeps_all_after(1));
    EXPECT_FALSE(events.keeps_all_after(7)) << "from a future that never was";
    std::vector<std::uint64_t> replayed;
    events.replay(1, [&](const Event& event) { replayed.push_back(event.sequence); });
    EXPECT_EQ(replayed, (std::vector<std::uint64_t>{3, 4, 5, 6}));
}

TEST(Events, do_not_keep_renewals_which_would_push_out_the_rest) {
    Events events{Events::Teller::authority, 4};
    int renewals = 0;
    events.subscribe([&](const Event& event) { renewals += event.kind == EventKind::renewed; });
    events.publish(EventKind::granted, "r", lease_of(1), Instant{});
    for (int i = 0; i < 10; ++i)
        events.publish(EventKind::renewed, "r", lease_of(1), Instant{});
    EXPECT_EQ(renewals, 10);
    EXPECT_EQ(events.latest(), 1U);
    EXPECT_TRUE(events.keeps_all_after(0));
}

}  // namespace
}  // namespace holdfast::authority
