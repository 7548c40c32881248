// Nothing is granted to a waiter that cannot be told (G6). Part of what is hunted for mutants.

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

class ReachableDesk : public ::testing::Test {
 protected:
    struct Waiting {
        bool reachable = true;
        std::optional<AcquireAnswer> answer;
    };
    std::shared_ptr<Waiting> wait(const std::string& holder, std::vector<lease::Intent> intents = {{"r"}}) {
        auto waiting = std::make_shared<Waiting>();
        AcquireRequest asked = Desk::request(holder, std::move(intents), 60s);
        asked.reachable = [waiting] { return waiting->reachable; };
        desk.authority.acquire(std::move(asked), [waiting](AcquireAnswer answer) { waiting->answer = answer; });
        return waiting;
    }
    static bool granted(const Waiting& waiting) {
        return waiting.answer && std::holds_alternative<AcquireGranted>(*waiting.answer);
    }

    Desk desk;
};

TEST_F(ReachableDesk, passes_on_to_the_next_what_nobody_is_there_to_be_told_of) {
    const lease::Token token = desk.lock("bob", "r");
    const auto gone = wait("gone");
    const auto next = wait("next");
    gone->reachable = false;
    desk.unlock("bob", "r", token);
    EXPECT_TRUE(granted(*next));
    ASSERT_TRUE(gone->answer);
    EXPECT_EQ(code_of(*gone->answer), Code::cancelled);
    EXPECT_EQ(desk.authority.active_leases(), 1U);
}

TEST_F(ReachableDesk, gives_back_all_of_a_manifest_whose_waiter_goes_while_it_is_taken) {
    const lease::Token token = desk.lock("bob", "b");
    AcquireRequest asked = Desk::request("gone", {{"a"}, {"b"}}, 60s);
    int looks = 0;
    asked.reachable = [&looks] { return ++looks == 1; };  // at the beginning of the attempt, and not later
    std::optional<AcquireAnswer> answer;
    desk.authority.acquire(std::move(asked), [&](AcquireAnswer given) { answer = std::move(given); });
    looks = 0;
    desk.unlock("bob", "b", token);
    EXPECT_GT(looks, 1);
    ASSERT_TRUE(answer);
    EXPECT_EQ(code_of(*answer), Code::cancelled);
    EXPECT_EQ(desk.authority.active_leases(), 0U);
    EXPECT_NE(desk.lock("next", "a"), 0U);
}

TEST_F(ReachableDesk, asks_nothing_of_who_is_granted_at_once) {
    AcquireRequest asked = Desk::request("alice", {{"r"}}, 60s);
    asked.reachable = [] { return false; };
    const auto answer = desk.ask(std::move(asked));
    ASSERT_TRUE(answer);
    EXPECT_TRUE(std::holds_alternative<AcquireGranted>(*answer)) << "it has asked a moment ago";
}

}  // namespace
}  // namespace holdfast::authority
