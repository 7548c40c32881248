// The ceiling on memory. Part of what is hunted for mutants.

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

TEST(FullMemory, takes_in_nothing_when_memory_is_full_and_serves_what_is_there) {
    Desk desk;
    const lease::Token token = desk.lock("alice", "r");
    std::optional<AcquireAnswer> waited;
    desk.authority.acquire(Desk::request("bob", {{"r"}}, 60s),
                           [&](AcquireAnswer answer) { waited = std::move(answer); });
    desk.authority.set_memory_full(true);
    for (const Duration wait : {Duration{}, Duration{60s}}) {
        const auto answer = desk.ask(Desk::request("carol", {{"other"}, {"r"}}, wait));
        ASSERT_TRUE(answer);
        EXPECT_EQ(std::get<Refused>(*answer).code, Code::memory_full);
        EXPECT_EQ(std::get<Refused>(*answer).retry_in, Duration{1s});
    }
    std::optional<Code> quickly;
    desk.authority.single_record().acquire("other", "carol", lease::Predicate::mutates, {},
                                           [&](const SingleRecordAnswer& answer) { quickly = answer.refused; });
    EXPECT_EQ(quickly, Code::memory_full);
    EXPECT_EQ(desk.authority.refused_for_memory(), 3U);
    bool renewed = false;
    desk.authority.single_record().renew("r", "alice", token, {},
                                         [&](const SingleRecordAnswer& answer) { renewed = answer.has_lease; });
    EXPECT_TRUE(renewed);
    EXPECT_EQ(desk.verify("r", token).verified.state, lease::LeaseState::active);
    EXPECT_TRUE(desk.unlock("alice", "r", token));
    ASSERT_TRUE(waited);
    EXPECT_TRUE(std::holds_alternative<AcquireGranted>(*waited)) << "who waits has its place already";
    desk.authority.set_memory_full(false);
    EXPECT_NE(desk.lock("carol", "other"), 0U);
}

}  // namespace
}  // namespace holdfast::authority
