#include "authority/current_policy.h"

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

CurrentPolicy::Edit set_max(Duration ttl_max) {
    return [ttl_max](lease::Policy& policy) -> Result<void> {
        policy.ttl_max = ttl_max;
        return {};
    };
}

TEST(CurrentPolicy, puts_a_change_in_force_only_once_it_is_durable) {  // R7
    TestDurable durable;
    durable.hold = true;
    CurrentPolicy book{durable, {}};
    bool answered = false;
    book.change({}, set_max(2min), [&](const Answer<lease::Policy>&) { answered = true; });
    EXPECT_EQ(book.policy().ttl_max, 5min);
    EXPECT_FALSE(answered);
    durable.answer_one();
    EXPECT_EQ(book.policy().ttl_max, 2min);
    EXPECT_TRUE(answered);
}

TEST(CurrentPolicy, keeps_the_old_policy_if_the_disk_refuses) {
    TestDurable durable;
    durable.outcome = Error{Code::storage_failed, "disk full"};
    CurrentPolicy book{durable, {}};
    std::optional<Code> code;
    book.change({}, set_max(2min), [&](const Answer<lease::Policy>& answer) { code = std::get<Refused>(answer).code; });
    EXPECT_EQ(code, Code::storage_failed);
    EXPECT_EQ(book.policy().ttl_max, 5min);
}

TEST(CurrentPolicy, refuses_nonsense_without_touching_the_disk) {
    TestDurable durable;
    CurrentPolicy book{durable, {}};
    std::optional<Code> code;
    book.change({}, set_max(1ms), [&](const Answer<lease::Policy>& answer) { code = std::get<Refused>(answer).code; });
    EXPECT_EQ(code, Code::invalid_policy);
    EXPECT_FALSE(durable.saved);
}

TEST(CurrentPolicy, builds_each_change_on_what_the_one_before_came_to) {
    TestDurable durable;
    durable.hold = true;
    CurrentPolicy book{durable, {}};
    const auto ignore = [](const Answer<lease::Policy>&) {};
    book.change({}, set_max(2min), ignore);
    book.change(
        {},
        [](lease::Policy& policy) -> Result<void> {
            policy.wait_max = 7s;
            return {};
        },
        ignore);
    durable.outcome = Error{Code::storage_failed, "disk full"};
    durable.answer_one();  // the first fails
    durable.outcome = {};
    durable.answer_one();
    EXPECT_EQ(book.policy().ttl_max, 5min);
    EXPECT_EQ(book.policy().wait_max, 7s);
}

TEST(CurrentPolicy, makes_a_change_anew_from_what_another_node_made_of_the_policy) {  // L3
    TestDurable durable;
    durable.hold = true;
    CurrentPolicy book{durable, {}};
    std::optional<lease::Policy> answered;
    book.change({}, set_max(2min),
                [&](const Answer<lease::Policy>& answer) { answered = std::get<lease::Policy>(answer); });
    lease::Policy newer;
    newer.wait_max = 7s;
    book.take(newer);
    durable.outcome = Error{Code::conflict, "changed meanwhile"};
    durable.answer_one();
    EXPECT_FALSE(answered);
    ASSERT_EQ(durable.held.size(), 1U);
    EXPECT_EQ(durable.saved->wait_max, 7s);
    EXPECT_EQ(durable.saved->ttl_max, 2min);
    durable.outcome = {};
    durable.answer_one();
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->wait_max, 7s);
    EXPECT_EQ(book.policy().ttl_max, 2min);
}

TEST(CurrentPolicy, does_not_go_back_to_its_own_change_when_a_newer_one_was_taken_in) {
    TestDurable durable;
    durable.hold = true;
    CurrentPolicy book{durable, {}};
    book.change({}, set_max(2min), [](const Answer<lease::Policy>&) {});
    lease::Policy newest;
    newest.ttl_max = 3min;
    book.take(newest);
    durable.answer_one();
    EXPECT_EQ(book.policy().ttl_max, 3min);
}

TEST(CurrentPolicy, gives_up_when_others_are_always_faster) {
    TestDurable durable;
    durable.outcome = Error{Code::conflict, "changed meanwhile"};
    CurrentPolicy book{durable, {}};
    std::optional<Code> code;
    book.change({}, set_max(2min), [&](const Answer<lease::Policy>& answer) { code = std::get<Refused>(answer).code; });
    EXPECT_EQ(code, Code::unavailable);
}

}  // namespace
}  // namespace holdfast::authority
