#include "lease/conflicts.h"

#include <gtest/gtest.h>

#include "lease/make_lease.h"

namespace holdfast::lease {
namespace {

Lease agents_lease(Token token, std::string holder, Priority priority) {
    Lease made = make_lease(token, Instant{1h}, Predicate::mutates, std::move(holder));
    made.priority = priority;
    return made;
}

Waiter waiter(std::uint64_t id, Predicate predicate, Instant until = Instant{1h}) {
    return {id, 0, false, predicate, until, "w" + std::to_string(id), ""};
}

Claim agents_claim(std::string_view holder, Priority priority) {
    Claim claim;
    claim.holder = holder;
    claim.priority = priority;
    claim.agent = true;
    claim.request = 99;
    return claim;
}

Turn turn(const Record& record, const Claim& claim, bool holds_something = false) {
    return judge(standing_of(record, NoNeighbours{}, claim, Instant{}), claim, holds_something);
}

TEST(WaitDie, lets_an_agent_wait_for_younger_holders_only) {  // G5
    Record record;
    record.leases = {agents_lease(1, "b", 100)};
    EXPECT_EQ(turn(record, agents_claim("a", 99)), Turn::wait);
    EXPECT_EQ(turn(record, agents_claim("c", 101)), Turn::die);
}

TEST(WaitDie, orders_equal_priorities_by_id) {
    Record record;
    record.leases = {agents_lease(1, "b", 100)};
    EXPECT_EQ(turn(record, agents_claim("a", 100)), Turn::wait);
    EXPECT_EQ(turn(record, agents_claim("c", 100)), Turn::die);
}

TEST(WaitDie, does_not_let_an_agent_wait_for_its_own_other_session) {
    Record record;
    record.leases = {agents_lease(1, "a", 100)};
    record.leases.front().session = "one";
    Claim claim = agents_claim("a", 100);
    claim.session = "two";
    EXPECT_EQ(turn(record, claim), Turn::die);
    claim.session = "one";
    EXPECT_TRUE(standing_of(record, NoNeighbours{}, claim, Instant{}).free());
}

TEST(WaitDie, counts_every_holder_in_the_way_not_only_those_that_are_named) {
    Record record;
    for (Token token = 1; token <= 300; ++token) {
        record.leases.push_back(agents_lease(token, "h" + std::to_string(token), token == 300 ? 50 : 1000));
        record.leases.back().predicate = Predicate::consumes;
    }
    EXPECT_EQ(turn(record, agents_claim("a", 100)), Turn::die) << "the last one is older";
    record.leases.pop_back();
    EXPECT_EQ(turn(record, agents_claim("a", 100)), Turn::wait);
    EXPECT_EQ(standing_of(record, NoNeighbours{}, agents_claim("a", 100), Instant{}).conflicts.size(),
              limits::named_per_record);
}

TEST(WaitDie, lets_plain_holders_and_those_that_meet_them_wait) {
    Record record;
    record.leases = {make_lease(1, Instant{1h})};
    EXPECT_EQ(turn(record, agents_claim("young", 1'000'000)), Turn::wait) << "a plain holder has no age";
    record.leases = {agents_lease(1, "old", 1)};
    Claim plain = agents_claim("plain", 500);
    plain.agent = false;
    EXPECT_EQ(turn(record, plain), Turn::wait);
}

TEST(WaitDie, lets_an_agent_wait_behind_an_older_waiter_only_while_it_holds_nothing) {
    Record record;
    record.leases = {agents_lease(1, "youngest", 300)};
    record.waiters = {{1, 100, true, Predicate::mutates, Instant{1h}, "oldest", ""}};
    EXPECT_EQ(turn(record, agents_claim("middle", 200), false), Turn::wait);
    EXPECT_EQ(turn(record, agents_claim("middle", 200), true), Turn::die);
    EXPECT_EQ(turn(record, agents_claim("older still", 50), true), Turn::wait) << "it goes before";
}

TEST(WaitDie, lets_a_request_in_the_queue_see_an_older_one_served_if_it_holds_nothing) {
    Record record;
    record.leases = {agents_lease(1, "older", 100)};
    Claim queued = agents_claim("middle", 200);
    queued.queued = true;
    EXPECT_EQ(turn(record, queued, false), Turn::wait);
    EXPECT_EQ(turn(record, queued, true), Turn::die);
}

TEST(WaitDie, treats_who_is_coming_back_as_a_holder) {  // R5
    Record record;
    record.reserved = {{agents_lease(1, "b", 100), Instant{15s}}};
    EXPECT_EQ(turn(record, agents_claim("a", 99)), Turn::wait);
    EXPECT_EQ(turn(record, agents_claim("c", 101)), Turn::die);
}

TEST(Outranked, are_the_younger_agents_in_the_queue_that_conflict) {
    Record record;
    record.waiters = {{1, 50, true, Predicate::mutates, Instant{1h}, "older", ""},
                      {2, 200, true, Predicate::mutates, Instant{1h}, "younger", ""},
                      {3, 200, false, Predicate::mutates, Instant{1h}, "plain", ""},
                      {4, 300, true, Predicate::consumes, Instant{1h}, "reader", ""}};
    EXPECT_EQ(outranked_by(record, NoNeighbours{}, agents_claim("a", 100)), (std::vector<std::uint64_t>{2, 4}));
    Claim reader = agents_claim("a", 100);
    reader.predicate = Predicate::consumes;
    EXPECT_EQ(outranked_by(record, NoNeighbours{}, reader), std::vector<std::uint64_t>{2});
}

TEST(ConflictReport, shows_a_plain_request_the_place_it_had_through_another_node) {  // G6
    Record record;
    record.leases = {make_lease(1, Instant{1h})};
    record.waiters = {{1, 10, false, Predicate::mutates, Instant{1h}, "alice", "s"},
                      {2, 20, false, Predicate::mutates, Instant{1h}, "bob", "t"}};
    Claim claim;
    claim.holder = "alice";
    claim.session = "s";
    claim.priority = 99;
    claim.request = 3;
    const auto entry = [&] { return standing_of(record, NoNeighbours{}, claim, Instant{}).own_entry; };
    EXPECT_EQ(entry(), 1U);
    EXPECT_EQ(standing_of(record, NoNeighbours{}, claim, Instant{}).own_place, 10);
    record.absent = {record.waiters.front()};
    record.waiters.erase(record.waiters.begin());
    EXPECT_EQ(entry(), 1U) << "the node is gone, and its waiters are in nobody's way";
    claim.session = "another";
    EXPECT_EQ(entry(), 0U);
    claim.session = "";
    record.absent.front().session = "";
    EXPECT_EQ(entry(), 0U) << "without a session it may be anybody";
}

TEST(ConflictReport, says_when_the_last_lease_in_the_way_ends) {
    Record record;
    record.leases = {make_lease(1, Instant{10s}, Predicate::consumes, "x"),
                     make_lease(2, Instant{40s}, Predicate::consumes, "y"),
                     make_lease(3, Instant{20s}, Predicate::consumes, "z")};
    record.leases[2].resumable = true;
    const ConflictReport standing = standing_of(record, NoNeighbours{}, agents_claim("a", 1), Instant{5s});
    EXPECT_EQ(standing.free_in, Duration{35s});
    record.leases.erase(record.leases.begin() + 1);
    EXPECT_EQ(standing_of(record, NoNeighbours{}, agents_claim("a", 1), Instant{5s}).free_in, Duration{30s})
        << "with the grace of the one that will be resumed";
}

TEST(ConflictReport, gives_up_looking_when_far_too_many_are_in_the_way) {
    class Crowd final : public Neighbours {
     public:
        void visit(Predicate, const Visit& visit) const override {
            Record record;
            record.leases = {make_lease(1, Instant{1h})};
            std::size_t shown = 0;
            while (visit("FILE:/x", record))
                ASSERT_LT(++shown, 2 * limits::obstacles);
        }
    };
    const ConflictReport standing = standing_of({}, Crowd{}, agents_claim("a", 1), Instant{});
    EXPECT_TRUE(standing.too_many);
    EXPECT_EQ(standing.conflicts[0].resource, "FILE:/x");
}

TEST(ConflictReport, puts_a_plain_request_behind_those_that_wait_whatever_the_clocks_of_their_nodes_say) {  // T1
    Record record;
    record.waiters = {waiter(1, Predicate::mutates), waiter(2, Predicate::mutates)};
    record.waiters[0].priority = 7'000'000;
    record.waiters[1].priority = 5;
    Claim claim;
    claim.holder = "h";
    claim.priority = 100;
    claim.request = 99;
    const ConflictReport come = standing_of(record, NoNeighbours{}, claim, Instant{});
    EXPECT_EQ(come.ahead, 2U);
    EXPECT_EQ(come.last_plain, 7'000'000);
    claim.queued = true;
    EXPECT_EQ(standing_of(record, NoNeighbours{}, claim, Instant{}).ahead, 1U) << "its place is fixed by then";
}

TEST(DueWaiters, are_only_the_oldest_if_it_needs_the_place_for_itself) {  // G6
    Record record;
    record.waiters = {waiter(1, Predicate::mutates), waiter(2, Predicate::mutates), waiter(3, Predicate::consumes)};
    EXPECT_EQ(due_waiters(record, NoNeighbours{}, Instant{}), std::vector<std::uint64_t>{1});
}

TEST(DueWaiters, are_all_that_can_share_up_to_the_first_that_cannot) {
    Record record;
    record.waiters = {waiter(1, Predicate::consumes), waiter(2, Predicate::depends_on), waiter(3, Predicate::mutates),
                      waiter(4, Predicate::consumes)};
    EXPECT_EQ(due_waiters(record, NoNeighbours{}, Instant{}), (std::vector<std::uint64_t>{1, 2}));
}

TEST(DueWaiters, are_none_while_a_lease_stands_in_the_way) {
    Record record;
    record.leases = {make_lease(1, Instant{1h}, Predicate::consumes)};
    record.waiters = {waiter(1, Predicate::mutates), waiter(2, Predicate::consumes)};
    EXPECT_TRUE(due_waiters(record, NoNeighbours{}, Instant{}).empty()) << "the second must not overtake the first";
}

TEST(DueWaiters, are_none_while_a_neighbour_stands_in_the_way) {
    class Tree final : public Neighbours {
     public:
        void visit(Predicate, const Visit& visit) const override {
            Record record;
            record.leases = {make_lease(1, Instant{1h})};
            visit("FILE:/**", record);
        }
    };
    Record record;
    record.waiters = {waiter(1, Predicate::mutates)};
    EXPECT_TRUE(due_waiters(record, Tree{}, Instant{}).empty());
    EXPECT_EQ(due_waiters(record, Tree{}, Instant{1h - 1ns}).size(), 0U);
}

}  // namespace
}  // namespace holdfast::lease
