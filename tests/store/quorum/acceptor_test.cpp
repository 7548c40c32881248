#include "store/quorum/acceptor.h"

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"

namespace holdfast::store::quorum {
namespace {

class Heard final : public StoreListener {
 public:
    void on_expired(std::string_view resource, const lease::Lease& lease, Duration) override {
        lines.push_back("expired " + lease::to_string(lease::LeaseName{std::string(resource), lease.token}));
    }
    void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) override {
        for (const std::uint64_t id : waiters)
            lines.push_back("due " + std::string(resource) + " " + std::to_string(id));
    }
    std::vector<std::string> lines;
};

class AcceptorTest : public ::testing::Test {
 protected:
    static constexpr Instant start{1000s};
    static constexpr lease::Token ceiling = 1'000'000;

    AcceptorTest() { begin(Instant{}, 0); }

    void begin(Instant silent_until, lease::Token found) {
        acceptor.emplace(Acceptor::Parts{config, heard, {1, 2}, silent_until, found});
        acceptor->raise_token_ceiling(found + ceiling);
        at(now);
    }
    void at(Instant time) {
        now = time;
        while (acceptor->advance(now)) {
        }
    }

    static Ballot ballot(std::uint64_t counter, NodeIndex node = 0) { return {counter, 1, node}; }
    Vote prepare(Ballot number) { return acceptor->prepare({"r", number}).value(); }
    Vote accept(Ballot number, const lease::Record& record, Ballot next = {}) {
        return acceptor->accept({"r", number, next, cas::to_relative(record, now)}).value();
    }
    lease::Record record_of(lease::Token token, Duration ttl = 10s) const {
        lease::Record record;
        lease::Lease& lease = record.leases.emplace_back();
        lease.token = token;
        lease.holder = "alice";
        lease.ttl = ttl;
        lease.expires_at = now + ttl;
        return record;
    }

    QuorumConfig config{.longest_ttl = 60s};
    Heard heard;
    Instant now = start;
    std::optional<Acceptor> acceptor;
};

TEST_F(AcceptorTest, promises_nothing_below_what_it_promised) {
    EXPECT_TRUE(prepare(ballot(5)).granted);
    const Vote refused = prepare(ballot(4));
    EXPECT_FALSE(refused.granted);
    EXPECT_EQ(refused.promised, ballot(5));
    EXPECT_TRUE(prepare(ballot(5)).granted) << "the same once more, for messages may be doubled";
    EXPECT_TRUE(prepare(ballot(5, 1)).granted) << "of two with one counter, the node decides";
    EXPECT_FALSE(accept(ballot(5), record_of(1)).granted);
    EXPECT_TRUE(accept(ballot(5, 1), record_of(1)).granted);
}

TEST_F(AcceptorTest, keeps_the_next_ballot_for_the_node_it_was_promised_to) {
    ASSERT_TRUE(accept(ballot(5), record_of(1), ballot(9)).granted);
    EXPECT_FALSE(prepare(ballot(8, 2)).granted);
    EXPECT_FALSE(accept(ballot(8, 2), record_of(2)).granted);
    EXPECT_TRUE(accept(ballot(9), record_of(3)).granted);
}

TEST_F(AcceptorTest, lets_nobody_promise_the_next_ballot_to_another) {
    ASSERT_TRUE(accept(ballot(5), record_of(1), ballot(9, 2)).granted);
    EXPECT_TRUE(prepare(ballot(6, 1)).granted) << "a next ballot that is another's counts for nothing";
}

TEST_F(AcceptorTest, answers_a_doubled_accept_as_before_and_changes_nothing) {  // Q12
    const lease::Record record = record_of(1);
    const cas::RelativeRecord relative = cas::to_relative(record, now);
    ASSERT_TRUE(acceptor->accept({"r", ballot(5), ballot(6), relative})->granted);
    at(now + 3s);
    EXPECT_TRUE(acceptor->accept({"r", ballot(5), ballot(6), relative})->granted);
    EXPECT_EQ(prepare(ballot(7)).record.record.leases.at(0).expires_at, Instant{7s});
}

TEST_F(AcceptorTest, tells_what_is_left_as_a_duration_and_drops_what_ended_but_not_its_ballot) {  // Q5
    ASSERT_TRUE(accept(ballot(5), record_of(1)).granted);
    at(start + 10s - 1ns);
    Vote promise = prepare(ballot(6));
    EXPECT_EQ(promise.accepted, ballot(5));
    ASSERT_EQ(promise.record.record.leases.size(), 1U);
    EXPECT_EQ(promise.record.record.leases[0].expires_at, Instant{1ns});
    at(start + 10s);
    promise = prepare(ballot(7));
    EXPECT_TRUE(promise.record.record.leases.empty());
    EXPECT_EQ(promise.accepted, ballot(5)) << "an older register must not win over the ended one";
    EXPECT_EQ(heard.lines, std::vector<std::string>{"expired r#1"});
}

TEST_F(AcceptorTest, forgets_a_register_when_nothing_older_can_come_back_and_remembers_how_far_it_was) {  // Q5
    ASSERT_TRUE(accept(ballot(5), lease::Record{}, ballot(6)).granted);
    at(start + config.ballot_kept() - 1ns);
    std::size_t kept = 0;
    const auto count = [&](std::string_view, const RegisterBallots&, const lease::Record&) { ++kept; };
    acceptor->for_each_register(count);
    EXPECT_EQ(kept, 1U);
    at(start + config.ballot_kept());
    kept = 0;
    acceptor->for_each_register(count);
    EXPECT_EQ(kept, 0U);
    EXPECT_EQ(acceptor->forgotten(), ballot(6));
    EXPECT_FALSE(prepare(ballot(5, 2)).granted) << "older than the forgetting";
    const Vote promise = prepare(ballot(7));
    EXPECT_TRUE(promise.granted);
    EXPECT_EQ(promise.accepted, Ballot{});
    EXPECT_EQ(acceptor->next_due(), now + 4 * config.attempt_time) << "a promise alone is not kept for long";
}

TEST_F(AcceptorTest, says_nothing_while_it_is_silent) {  // Q10
    begin(start + config.silence(), 500);
    at(start + config.silence() - 1ns);
    EXPECT_EQ(acceptor->silent_for(), 1ns);
    EXPECT_FALSE(acceptor->prepare({"r", ballot(10'000)}));
    EXPECT_FALSE(acceptor->accept({"r", ballot(10'000), {}, {}}));
    EXPECT_FALSE(acceptor->answer({1, ReadRequest::Kind::of_holder, "alice", 10}));
    at(start + config.silence());
    EXPECT_EQ(acceptor->silent_for(), 0ns);
    EXPECT_TRUE(prepare(ballot(10'000)).granted);
}

TEST_F(AcceptorTest, that_lost_its_memory_takes_part_in_nothing_that_it_may_have_promised_before) {  // Q10
    begin(start + config.silence(), 500);
    at(start + config.silence());
    EXPECT_FALSE(prepare(ballot(500)).granted);
    EXPECT_FALSE(accept(ballot(500), lease::Record{}).granted);
    EXPECT_TRUE(prepare(ballot(501)).granted);
}

TEST_F(AcceptorTest, grants_no_token_and_no_ballot_that_a_restart_would_forget) {  // Q11
    EXPECT_FALSE(accept(ballot(5), record_of(ceiling + 1)).granted);
    const auto wanted = acceptor->wants_ceiling();
    ASSERT_TRUE(wanted);
    EXPECT_GT(*wanted, ceiling + 1);
    EXPECT_FALSE(acceptor->wants_ceiling()) << "asked once";
    EXPECT_FALSE(accept(ballot(5), record_of(ceiling + 1)).granted) << "and not before it is durable";
    EXPECT_FALSE(prepare(ballot(ceiling + 1)).granted);
    EXPECT_FALSE(accept(ballot(5), record_of(1), ballot(ceiling + 1)).granted);
    acceptor->raise_token_ceiling(*wanted);
    EXPECT_TRUE(accept(ballot(5), record_of(ceiling + 1), ballot(ceiling + 1)).granted);
    EXPECT_EQ(acceptor->highest_token(), ceiling + 1);
}

TEST_F(AcceptorTest, reports_the_highest_token_of_all_registers_and_lives) {  // Q11
    begin({}, 500);
    EXPECT_EQ(prepare(ballot(1)).highest_token, 500U);
    ASSERT_TRUE(acceptor->accept({"other", ballot(2), {}, cas::to_relative(record_of(700), now)})->granted);
    EXPECT_EQ(prepare(ballot(2)).highest_token, 700U);
}

TEST_F(AcceptorTest, tells_the_turn_of_those_who_wait_for_what_is_gone) {  // G6
    lease::Record waited = record_of(1);
    waited.waiters.push_back({.id = 77, .until = now + 1h, .holder = "bob", .session = {}});
    ASSERT_TRUE(accept(ballot(1), waited).granted);
    EXPECT_TRUE(heard.lines.empty());
    waited.leases.clear();
    ASSERT_TRUE(accept(ballot(2), waited).granted);
    EXPECT_EQ(heard.lines, std::vector<std::string>{"due r 77"});
}

TEST_F(AcceptorTest, hands_its_state_to_its_next_life) {  // Q10
    lease::Record waited = record_of(3);
    waited.waiters.push_back({.id = 77, .until = now + 1h, .holder = "bob", .session = {}});
    ASSERT_TRUE(accept(ballot(5), waited, ballot(6)).granted);
    std::vector<std::pair<RegisterBallots, lease::Record>> saved;
    acceptor->for_each_register(
        [&](std::string_view resource, const RegisterBallots& ballots, const lease::Record& record) {
            EXPECT_EQ(resource, "r");
            saved.push_back({ballots, record});
        });
    ASSERT_EQ(saved.size(), 1U);
    begin({}, 0);
    acceptor->restore_forgotten(ballot(4));
    acceptor->restore("r", saved[0].first, saved[0].second);
    EXPECT_FALSE(prepare(ballot(5, 2)).granted);
    const Vote promise = prepare(ballot(7));
    EXPECT_EQ(promise.accepted, ballot(5));
    EXPECT_EQ(promise.record.record.leases.size(), 1U);
    EXPECT_EQ(promise.record.record.waiters.size(), 1U);
    EXPECT_FALSE(acceptor->prepare({"s", ballot(3)})->granted);
}

TEST_F(AcceptorTest, shows_what_overlaps_and_says_when_there_is_more) {
    for (std::uint64_t i = 0; i < 3; ++i)
        ASSERT_TRUE(
            acceptor->accept({"FILE:/a/" + std::to_string(i), ballot(1), {}, cas::to_relative(record_of(i + 1), now)})
                ->granted);
    const auto all = acceptor->answer({1, ReadRequest::Kind::overlapping, "FILE:/a/**", 3});
    EXPECT_EQ(all->entries.size(), 3U);
    EXPECT_FALSE(all->cut);
    const auto two = acceptor->answer({2, ReadRequest::Kind::overlapping, "FILE:/a/**", 2});
    EXPECT_EQ(two->entries.size(), 2U);
    EXPECT_TRUE(two->cut);
    EXPECT_EQ(acceptor->answer({3, ReadRequest::Kind::of_holder, "alice", 10})->entries.size(), 3U);
    EXPECT_TRUE(acceptor->answer({4, ReadRequest::Kind::overlapping, "FILE:/b/**", 3})->entries.empty());
}

TEST_F(AcceptorTest, does_not_hear_strangers) {
    EXPECT_FALSE(acceptor->prepare({"r", ballot(1, 3)})) << "there is no fourth member";
    EXPECT_FALSE(acceptor->prepare({std::string(10'000, 'x'), ballot(1)}));
}

TEST_F(AcceptorTest, offers_a_promised_ballot_to_its_own_node_once) {
    prepare(ballot(1));
    accept(ballot(1), record_of(7), ballot(2));
    acceptor->mark_chosen("r", ballot(1), ballot(2));
    const auto offered = acceptor->chosen("r");
    ASSERT_TRUE(offered);
    EXPECT_EQ(offered->next, ballot(2));
    EXPECT_FALSE(acceptor->chosen("r")) << "no ballot is used twice, also if nothing came of it (Q2)";
}

TEST_F(AcceptorTest, offers_no_ballot_that_was_used_for_what_it_refused) {  // Q2
    prepare(ballot(1));
    accept(ballot(1), record_of(7), ballot(2));
    acceptor->mark_chosen("r", ballot(1), ballot(2));
    EXPECT_FALSE(accept(ballot(2), record_of(8), ballot(ceiling + 1)).granted);
    EXPECT_FALSE(acceptor->chosen("r")) << "others may have accepted it";
}

TEST_F(AcceptorTest, that_lost_its_memory_refuses_up_to_its_ceiling_by_naming_a_node_that_there_is) {
    begin(start + 1s, 100);
    at(start + 2s);
    const Vote refused = prepare(ballot(100));
    EXPECT_FALSE(refused.granted);
    EXPECT_GT(refused.promised, ballot(100, 2));
    EXPECT_LT(refused.promised.node, config.members);
    EXPECT_TRUE(prepare(ballot(101)).granted);
}

}  // namespace
}  // namespace holdfast::store::quorum
