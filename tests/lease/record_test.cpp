#include "lease/record.h"

#include <gtest/gtest.h>

#include "lease/make_lease.h"

namespace holdfast::lease {
namespace {

Waiter waiter(std::uint64_t id, Predicate predicate, Instant until = Instant{1h}) {
    return {id, 0, false, predicate, until, "w" + std::to_string(id), ""};
}

TEST(Settle, takes_out_what_has_ended_and_nothing_else) {
    Record record;
    record.leases = {make_lease(1, Instant{10s}), make_lease(2, Instant{11s})};
    record.waiters = {waiter(1, Predicate::mutates, Instant{10s}), waiter(2, Predicate::mutates, Instant{11s})};
    EXPECT_FALSE(settle(record, Instant{10s - 1ns}));
    std::vector<Token> expired;
    EXPECT_TRUE(settle(record, Instant{10s}, [&](const Lease& ended) { expired.push_back(ended.token); }));
    EXPECT_EQ(expired, std::vector<Token>{1});
    ASSERT_EQ(record.leases.size(), 1U);
    EXPECT_EQ(record.leases[0].token, 2U);
    ASSERT_EQ(record.waiters.size(), 1U);
    EXPECT_EQ(record.waiters[0].id, 2U);
}

TEST(Settle, dates_an_expiry_at_the_instant_it_fell_due_however_late_it_is_noticed) {
    Record record;
    record.leases = {make_lease(1, Instant{10s})};
    settle(record, Instant{60s});
    EXPECT_EQ(record.ended, (std::vector<EndedLease>{{1, Ending::expired, Instant{10s}}}));
}

TEST(Settle, forgets_the_ended_after_five_minutes) {  // R3
    Record record;
    record.leases = {make_lease(1, Instant{10s})};
    settle(record, Instant{10s + 5min - 1ns});
    EXPECT_NE(record.find_ended(1), nullptr);
    settle(record, Instant{10s + 5min});
    EXPECT_TRUE(record.empty());
}

TEST(Record, remembers_a_bounded_number_of_ended_leases) {
    Record record;
    for (Token token = 1; token <= limits::ended_per_record + 5; ++token) {
        record.leases.push_back(make_lease(token, Instant{1h}));
        record.end(token, Ending::released, Instant{1s});
    }
    EXPECT_EQ(record.ended.size(), limits::ended_per_record);
    EXPECT_EQ(record.find_ended(5), nullptr);
    EXPECT_NE(record.find_ended(6), nullptr);
}

TEST(Record, remembers_the_time_of_a_bounded_number_of_holders) {  // R6
    Record record;
    for (Token token = 1; token <= limits::past_holdings_per_record + 5; ++token) {
        Lease lease = make_lease(token, Instant{1h}, Predicate::consumes, "h" + std::to_string(token));
        lease.metered = true;
        lease.held_since = Instant{token % 2 == 0 ? 10s : 20s};
        record.leases.push_back(lease);
        record.end(token, Ending::released, Instant{30s});
    }
    EXPECT_EQ(record.past.size(), limits::past_holdings_per_record);
    EXPECT_EQ(record.past[0].holder, "h2") << "of two, the one that counts for longer stays";
    settle(record, Instant{50s} - 1ns);
    EXPECT_FALSE(record.past.empty());
    settle(record, Instant{50s});
    EXPECT_TRUE(record.past.empty());
}

TEST(NextChange, is_the_first_instant_at_which_settling_does_something) {
    Record record;
    EXPECT_EQ(next_change(record), Instant::max());
    record.ended = {{1, Ending::released, Instant{1s}}};
    EXPECT_EQ(next_change(record), Instant{1s} + limits::ended_kept);
    record.leases = {make_lease(2, Instant{20s}), make_lease(3, Instant{15s})};
    EXPECT_EQ(next_change(record), Instant{15s});
    record.waiters = {waiter(1, Predicate::mutates, Instant{5s})};
    EXPECT_EQ(next_change(record), Instant{5s});
}

TEST(Record, keeps_what_expired_reserved_only_if_its_agent_said_that_it_restarts) {  // R5
    Record record;
    record.leases = {make_lease(1, Instant{10s}), make_lease(2, Instant{10s})};
    record.leases[1].resumable = true;
    settle(record, Instant{10s});
    ASSERT_EQ(record.reserved.size(), 1U);
    EXPECT_EQ(record.reserved[0].lease.token, 2U);
    EXPECT_EQ(next_change(record), Instant{25s});
    EXPECT_FALSE(settle(record, Instant{25s - 1ns}));
    EXPECT_TRUE(settle(record, Instant{25s}));
    EXPECT_TRUE(record.reserved.empty());
}

TEST(Record, reserves_nothing_that_was_noticed_too_late) {
    Record record;
    record.leases = {make_lease(1, Instant{10s})};
    record.leases[0].resumable = true;
    settle(record, Instant{25s});
    EXPECT_TRUE(record.reserved.empty());
    EXPECT_NE(record.find_ended(1), nullptr);
}

}  // namespace
}  // namespace holdfast::lease
