#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

/// An authority that lost its memory: the life before issued tokens up to a thousand, and nothing is granted for a
/// minute.
struct Recovering {
    Recovering()
        : authority({.durable = durable,
                     .policy = {},
                     .tokens_issued = 1000,
                     .wall_ms = 500,
                     .recovering_until = Instant{1060s}}),
          store(authority.listener(), {1, 2}) {
        authority.use(store);
        at(Instant{1000s});
    }
    void at(Instant now) {
        while (store.advance(now)) {
        }
        authority.advance(now);
    }
    Answer<HeldLease> say(lease::Token token, const std::string& holder = "d1") {
        std::optional<Answer<HeldLease>> got;
        authority.reassert({"KEY:room", token, 60s, holder, "b-" + holder, "key", {}},
                           [&](Answer<HeldLease> answer) { got = std::move(answer); });
        return got.value();
    }
    Code refusal(lease::Token token) { return std::get<Refused>(say(token)).code; }
    AcquireAnswer acquire() {
        AcquireRequest request;
        request.caller.acts_for = lease::Owner::keys;
        request.holder = "d2";
        request.session = "b-2";
        request.intents = {{"KEY:room", lease::Predicate::mutates}};
        std::optional<AcquireAnswer> got;
        authority.acquire(std::move(request), [&](AcquireAnswer answer) { got = std::move(answer); });
        return got.value();
    }

    TestDurable durable;
    Authority authority;
    store::memory::MemoryStore store;
};

TEST(Reassert, keeps_others_out_when_the_server_grants_again) {
    Recovering server;
    EXPECT_EQ(code_of(server.acquire()), Code::recovering);
    server.at(Instant{1030s});
    ASSERT_TRUE(std::holds_alternative<HeldLease>(server.say(900)));
    server.at(Instant{1060s});
    EXPECT_EQ(code_of(server.acquire()), Code::busy);
    server.at(Instant{1090s});
    EXPECT_GT(std::get<AcquireGranted>(server.acquire()).leases[0].lease.token, 1000U);
}

TEST(Reassert, is_for_the_time_of_recovery_only) {
    Recovering server;
    server.at(Instant{1060s});
    EXPECT_EQ(server.refusal(900), Code::unknown_lease);
    Desk never_lost_anything;
    bool refused = false;
    never_lost_anything.authority.reassert(
        {"KEY:room", 1, 60s, "d1", "b-1", "", ""},
        [&](const Answer<HeldLease>& answer) { refused = std::holds_alternative<Refused>(answer); });
    EXPECT_TRUE(refused);
}

TEST(Reassert, is_for_tokens_that_may_have_been_issued_only) {
    Recovering server;
    EXPECT_EQ(server.refusal(0), Code::unknown_lease);
    EXPECT_EQ(server.refusal(1001), Code::unknown_lease);
    EXPECT_TRUE(std::holds_alternative<HeldLease>(server.say(1000)));
}

TEST(Reassert, is_told_as_a_grant) {
    Recovering server;
    std::vector<std::string> told;
    server.authority.events().subscribe([&](const Event& event) {
        told.push_back(std::string(to_string(event.kind)) + " " + event.resource + " " + std::to_string(event.token));
    });
    server.say(900);
    EXPECT_EQ(told, std::vector<std::string>{"granted KEY:room 900"});
}

TEST(Reassert, is_refused_by_a_server_that_stops) {
    Recovering server;
    server.authority.stop();
    EXPECT_EQ(server.refusal(900), Code::stopping);
}

}  // namespace
}  // namespace holdfast::authority
