#include "authority/idempotency.h"

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

AcquireRequest keyed(std::string holder, std::string key, std::string resource = "r") {
    AcquireRequest request = Desk::request(std::move(holder), {{std::move(resource)}});
    request.idempotency_key = std::move(key);
    return request;
}

TEST(Idempotency, returns_the_first_grant_with_the_time_it_has_left) {  // G7, T3
    Desk desk;
    const auto first = std::get<AcquireGranted>(*desk.ask(keyed("alice", "k")));
    desk.pass(10s);
    const auto second = std::get<AcquireGranted>(*desk.ask(keyed("alice", "k")));
    EXPECT_EQ(second.leases[0].lease.token, first.leases[0].lease.token);
    EXPECT_EQ(second.leases[0].timeline.expires_in, 50s);
    EXPECT_EQ(desk.authority.active_leases(), 1U);
}

TEST(Idempotency, does_not_hand_out_a_grant_that_has_ended_since) {
    Desk desk;
    const auto granted = std::get<AcquireGranted>(*desk.ask(keyed("alice", "k")));
    desk.authority.revoke({"r", granted.leases[0].lease.token}, [](const Answer<lease::Lease>&) {});
    ASSERT_NE(desk.lock("bob", "r"), 0U);
    EXPECT_EQ(code_of(*desk.ask(keyed("alice", "k"))), Code::lease_revoked);
    desk.ask(keyed("carol", "k", "other"));
    desk.pass(60s);
    EXPECT_EQ(code_of(*desk.ask(keyed("carol", "k", "other"))), Code::lease_expired);
}

TEST(Idempotency, tells_of_a_grant_that_was_renewed_since_as_it_is_now) {
    Desk desk;
    const auto granted = std::get<AcquireGranted>(*desk.ask(keyed("alice", "k")));
    desk.pass(50s);
    desk.authority.renew({{}, "alice", {}, {{{"r", granted.leases[0].lease.token}, {}}}, {}, {}},
                         [](const std::vector<RenewAnswer>&) {});
    desk.pass(20s);
    const auto again = std::get<AcquireGranted>(*desk.ask(keyed("alice", "k")));
    EXPECT_EQ(again.leases[0].timeline.expires_in, 40s);
}

TEST(Idempotency, returns_the_first_refusal_by_a_rival_too) {
    Desk desk;
    const lease::Token token = desk.lock("bob", "r");
    EXPECT_EQ(code_of(*desk.ask(keyed("alice", "k"))), Code::busy);
    desk.unlock("bob", "r", token);
    EXPECT_EQ(code_of(*desk.ask(keyed("alice", "k"))), Code::busy);
    EXPECT_TRUE(std::holds_alternative<AcquireGranted>(*desk.ask(keyed("alice", "another"))));
}

TEST(Idempotency, keeps_keys_of_different_holders_apart) {
    Desk desk;
    desk.ask(keyed("alice", "k"));
    EXPECT_EQ(code_of(*desk.ask(keyed("bob", "k"))), Code::busy);
}

TEST(Idempotency, refuses_a_key_that_was_used_for_something_else) {
    Desk desk;
    desk.ask(keyed("alice", "k"));
    EXPECT_EQ(code_of(*desk.ask(keyed("alice", "k", "other"))), Code::idempotency_mismatch);
}

TEST(Idempotency, says_so_while_the_first_request_still_waits_and_forgets_it_if_that_goes_away) {
    Desk desk;
    desk.lock("bob", "r");
    AcquireRequest waiting = keyed("alice", "k");
    waiting.wait = 10s;
    const auto ticket = desk.authority.acquire(waiting, [](AcquireAnswer) {});
    EXPECT_EQ(code_of(*desk.ask(waiting)), Code::idempotency_in_progress);
    desk.authority.cancel(ticket);
    EXPECT_EQ(code_of(*desk.ask(keyed("alice", "k"))), Code::busy) << "asked afresh";
}

TEST(Idempotency, keeps_a_bounded_amount_of_answers) {
    Desk desk;
    const auto ask = [&](int i) {
        AcquireRequest request = keyed("alice", "k" + std::to_string(i), "r" + std::to_string(i));
        request.metadata = std::string(lease::limits::metadata_bytes, 'm');
        return std::get<AcquireGranted>(*desk.ask(std::move(request))).leases[0].lease.token;
    };
    const lease::Token first = ask(0);
    EXPECT_EQ(ask(0), first);
    const auto enough = static_cast<int>(Idempotency::max_bytes / lease::limits::metadata_bytes) + 1;
    for (int i = 1; i < enough; ++i)
        ask(i);
    EXPECT_GT(ask(0), first) << "the oldest was forgotten";
    const lease::Token last = ask(enough);
    EXPECT_EQ(ask(enough), last);
}

TEST(Idempotency, forgets_after_five_minutes) {
    Desk desk;
    const auto first = std::get<AcquireGranted>(*desk.ask(keyed("alice", "k")));
    desk.pass(Idempotency::kept);
    const auto second = std::get<AcquireGranted>(*desk.ask(keyed("alice", "k")));
    EXPECT_GT(second.leases[0].lease.token, first.leases[0].lease.token);
}

}  // namespace
}  // namespace holdfast::authority
