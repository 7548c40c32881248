// How long a request waited, as its holder may count it (T3). Part of what is hunted for mutants.

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

constexpr double rho = lease::default_rho;

/// A holder whose clock is as slow as is allowed, while the authority's is as fast.
Duration on_the_holders_clock(Duration on_the_authoritys) {
    return Duration{static_cast<Duration::rep>(static_cast<double>(on_the_authoritys.count()) * (1 - rho) / (1 + rho))};
}

class WaitedDesk : public ::testing::Test {
 protected:
    static AcquireRequest keyed(Duration wait) {
        AcquireRequest asked = Desk::request("alice", {{"r"}}, wait);
        asked.idempotency_key = "k";
        return asked;
    }
    std::shared_ptr<std::optional<AcquireAnswer>> wait(AcquireRequest asked) {
        auto got = std::make_shared<std::optional<AcquireAnswer>>();
        desk.authority.acquire(std::move(asked), [got](AcquireAnswer answer) { *got = std::move(answer); });
        return got;
    }
    static Duration waited(const std::optional<AcquireAnswer>& answer) {
        const auto* granted = answer ? std::get_if<AcquireGranted>(&*answer) : nullptr;
        EXPECT_NE(granted, nullptr) << "not granted";
        return granted != nullptr ? granted->waited : Duration::max();
    }

    Desk desk;
};

TEST_F(WaitedDesk, tells_nothing_of_a_wait_to_a_request_that_did_not) {
    EXPECT_EQ(waited(desk.ask(keyed({}))), Duration::zero());
}

TEST_F(WaitedDesk, tells_no_more_than_has_passed_on_the_slowest_clock_and_not_much_less) {
    for (const Duration passed : {Duration{1ms}, Duration{6s}, Duration{59s}}) {
        const lease::Token token = desk.lock("bob", "r");
        const auto answer = wait(Desk::request("alice", {{"r"}}, 10min));
        desk.pass(passed);
        ASSERT_TRUE(desk.unlock("bob", "r", token));
        EXPECT_LE(waited(*answer), on_the_holders_clock(passed));
        EXPECT_GT(waited(*answer), passed * 97 / 100);
        desk.pass(2min);
    }
}

TEST_F(WaitedDesk, counts_the_wait_of_a_lease_that_ended_by_itself_until_its_end) {
    desk.lock("bob", "r", 10s);
    const auto answer = wait(Desk::request("alice", {{"r"}}, 10min));
    desk.pass(10s);
    EXPECT_LE(waited(*answer), on_the_holders_clock(10s));
    EXPECT_GT(waited(*answer), Duration{9s});
}

TEST_F(WaitedDesk, does_not_tell_a_repeat_how_long_the_first_transmission_waited) {
    const lease::Token token = desk.lock("bob", "r");
    const auto first = wait(keyed(10min));
    desk.pass(30s);
    desk.unlock("bob", "r", token);
    EXPECT_GT(waited(*first), Duration{29s});
    desk.pass(1s);
    const auto repeated = desk.ask(keyed(10min));
    EXPECT_EQ(waited(repeated), Duration::zero()) << "it was sent a moment ago";
    EXPECT_EQ(std::get<AcquireGranted>(*repeated).leases[0].timeline.expires_in, 59s);
}

}  // namespace
}  // namespace holdfast::authority
