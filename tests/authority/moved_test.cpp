// A request that waited through a node which does not answer any more keeps its place (G6). Part of what is hunted for
// mutants.

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

class MovedDesk : public ::testing::Test {
 protected:
    std::shared_ptr<bool> wait(const std::string& holder, const std::string& session) {
        auto granted = std::make_shared<bool>(false);
        AcquireRequest asked = Desk::request(holder, {{"r"}}, 60s);
        asked.session = session;
        desk.authority.acquire(std::move(asked), [granted](const AcquireAnswer& answer) {
            *granted = std::holds_alternative<AcquireGranted>(answer);
        });
        return granted;
    }

    Desk desk;
};

TEST_F(MovedDesk, gives_the_request_its_place_back_before_those_that_came_since) {
    const lease::Token token = desk.lock("bob", "r");
    ASSERT_TRUE(desk.queue_elsewhere("alice", "run-1"));
    const auto since = wait("carol", "run-2");
    const auto moved = wait("alice", "run-1");
    EXPECT_TRUE(desk.unlock("bob", "r", token));
    EXPECT_TRUE(*moved);
    EXPECT_FALSE(*since);
}

TEST_F(MovedDesk, gives_the_place_to_no_other_session_of_the_holder) {
    const lease::Token token = desk.lock("bob", "r");
    ASSERT_TRUE(desk.queue_elsewhere("alice", "run-1"));
    const auto since = wait("carol", "run-2");
    const auto other = wait("alice", "run-3");
    EXPECT_TRUE(desk.unlock("bob", "r", token));
    EXPECT_FALSE(*other);
    EXPECT_FALSE(*since) << "the place is still taken";
}

}  // namespace
}  // namespace holdfast::authority
