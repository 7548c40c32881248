#include <algorithm>

#include "store/contract/contract.h"

namespace holdfast::store::contract {
namespace {

bool is_unavailable(const ErrorCode& code) {
    return code == Code::unavailable || code == Code::store_unavailable;
}

TEST_P(StoreContract, goes_on_when_a_front_was_killed_between_reading_and_writing) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::front_killed});
    for (int i = 0; i < 20; ++i)  // some have been written, some will be, some never: nobody was told of any
        ask(0, "r" + std::to_string(i), {"alice", 2s});
    tested->kill_front(0);
    for (int i = 0; i < 20; ++i) {
        const std::string resource = "r" + std::to_string(i);
        EXPECT_TRUE(until([&] { return acquire(1, resource, {"bob"}) != 0; }, 60s)) << resource;
    }
    EXPECT_EQ(leases_of(1, "alice").size(), 0U);
}

TEST_P(StoreContract, ends_the_leases_of_a_front_that_was_killed_in_time) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::front_killed});
    const Duration sent = tested->elapsed();
    const lease::LeaseName name{"r", acquire(0, "r", {"alice", 3s})};
    tested->kill_front(0);
    EXPECT_EQ(acquire(1, "r", {"bob"}), 0U);
    EXPECT_TRUE(until([&] { return acquire(1, "r", {"bob"}) != 0; }, 30s));
    EXPECT_GE(tested->elapsed(), sent + 3s);
    tested->start_front(0);
    EXPECT_TRUE(until([&] { return ask_answered(0, name); }, 60s)) << "it is back";
}

TEST_P(StoreContract, tells_of_what_ran_out_though_the_front_that_granted_it_is_gone) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::front_killed});
    const lease::LeaseName name{"r", acquire(0, "r", {"alice", 1s})};
    tested->kill_front(0);
    EXPECT_TRUE(until([&] { return Told::has(tested->told(1).expired, to_string(name)); }, 60s));
}

TEST_P(StoreContract, does_not_wait_for_the_waiters_of_a_front_that_is_gone) {  // G6
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::front_killed});
    const std::uint64_t gone = tested->first_request(0);
    const lease::Token token = acquire(1, "r", {"alice"});
    ASSERT_TRUE(answer(ask_wait(0, "r", gone, "bob")).value_or(false));
    tested->kill_front(0);
    EXPECT_TRUE(release(1, {"r", token}, "alice"));
    EXPECT_TRUE(until([&] { return acquire(1, "r", {"carol"}) != 0; }, 60s));
}

TEST_P(StoreContract, keeps_leases_over_a_restart_of_the_engine) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::engine_restarted});
    const lease::LeaseName name{"r", acquire(0, "r", {"alice"})};
    ASSERT_NE(name.token, 0U);
    tested->restart_engine();
    ASSERT_TRUE(until([&] { return ask_answered(0, name) && ask_answered(1, name); }, 60s)) << "by itself";
    EXPECT_EQ(state(1, name), lease::LeaseState::active);
    EXPECT_EQ(acquire(1, "r", {"bob"}), 0U);
    EXPECT_TRUE(renew(0, name, "alice"));
    const std::uint64_t request = tested->first_request(1);
    ASSERT_TRUE(answer(ask_wait(1, "r", request, "bob")).value_or(false));
    EXPECT_TRUE(release(0, name, "alice"));
    EXPECT_TRUE(until([&] { return Told::has(tested->told(1).due, "r " + std::to_string(request)); }));
}

TEST_P(StoreContract, fails_soon_while_the_engine_cannot_be_reached_and_comes_back_by_itself) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::engine_unreachable});
    const lease::LeaseName name{"r", acquire(0, "r", {"alice", 300s})};
    tested->reach_engine(false);
    const auto during = ask(0, "other", {"bob"});
    ASSERT_TRUE(until([&] { return during->done; }, 30s));
    EXPECT_TRUE(is_unavailable(during->error)) << during->error;
    EXPECT_NE(during->message, "");
    tested->reach_engine(true);
    ASSERT_TRUE(until([&] { return ask_answered(0, name) && ask_answered(1, name); }, 60s));
    EXPECT_EQ(state(0, name), lease::LeaseState::active);
    EXPECT_TRUE(until([&] { return acquire(1, "other", {"carol"}) != 0; }, 60s))
        << "of what failed nothing is left, or not for long";
}

TEST_P(StoreContract, grants_nothing_twice_when_the_engine_is_slow) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::engine_slow});
    acquire(0, "first", {"alice"});
    tested->slow_engine(300ms);
    const auto one = ask(0, "r", {"alice", 30s}), other = ask(1, "r", {"bob", 30s});
    ASSERT_TRUE(until([&] { return one->done && other->done; }, 60s));
    const bool both = one->value.value_or(0) != 0 && other->value.value_or(0) != 0;
    EXPECT_FALSE(both);
    tested->slow_engine(0s);
    EXPECT_TRUE(until([&] { return ask_answered(0, {"r", 1}); }, 60s));
    const std::size_t held = leases_of(1, "alice").size() - 1 + leases_of(1, "bob").size();
    EXPECT_LE(held, 1U);
}

TEST_P(StoreContract, counts_a_holders_time_from_before_a_slow_answer) {  // T3
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::engine_slow});
    acquire(0, "first", {"alice"});
    tested->slow_engine(300ms);
    const Duration sent = tested->elapsed();
    const auto asked = ask(0, "r", {"alice", 3s});
    ASSERT_TRUE(until([&] { return asked->done; }, 30s));
    tested->slow_engine(0s);
    if (asked->value.value_or(0) == 0) GTEST_SKIP() << "it was given up: " << asked->message;
    EXPECT_TRUE(until([&] { return acquire(1, "r", {"bob"}) != 0; }, 30s));
    EXPECT_GE(tested->elapsed(), sent + 3s);
}

TEST_P(StoreContract, notices_that_the_engines_clock_went_ahead_before_it_grants_by_it) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::engine_clock_stepped});
    const lease::LeaseName name{"r", acquire(0, "r", {"alice", 60s})};
    EXPECT_EQ(acquire(1, "r", {"bob"}), 0U);
    tested->step_clock(1h);
    for (const std::size_t front : {0U, 1U}) {
        // Once it has been told, it is for who was told not to ask.
        const bool told_before = tested->clock_steps_noticed(front) > 0;
        const auto asked = ask(front, "r", {"bob"});
        ASSERT_TRUE(until([&] { return asked->done; }, 30s));
        EXPECT_TRUE(told_before || asked->value.value_or(0) == 0) << "alice has it still";
        EXPECT_TRUE(until([&] { return tested->clock_steps_noticed(front) > 0; }, 30s)) << front;
    }
}

TEST_P(StoreContract, goes_on_when_the_engines_clock_went_back) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::engine_clock_stepped});
    const lease::LeaseName name{"r", acquire(0, "r", {"alice", 60s})};
    tested->step_clock(-1h);
    EXPECT_TRUE(until([&] { return ask_answered(0, name) && ask_answered(1, name); }, 30s));
    EXPECT_EQ(state(1, name), lease::LeaseState::active);
    EXPECT_EQ(acquire(1, "r", {"bob"}), 0U);
    EXPECT_TRUE(release(1, name, "alice"));
    EXPECT_GT(acquire(1, "r", {"bob"}), name.token);
}

TEST_P(StoreContract, does_not_care_what_a_front_takes_the_time_to_be) {  // T1
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::front_clock_off},
                    ContractShape{.fronts = 2, .clocks_ahead = {Duration{0s}, Duration{5h}}});
    const Duration sent = tested->elapsed();
    const lease::LeaseName name{"r", acquire(0, "r", {"alice", 2s})};
    EXPECT_EQ(state(1, name), lease::LeaseState::active);
    EXPECT_EQ(acquire(1, "r", {"bob"}), 0U);
    EXPECT_TRUE(until([&] { return acquire(1, "r", {"bob", 2s}) != 0; }, 30s));
    EXPECT_GE(tested->elapsed(), sent + 2s);
    EXPECT_TRUE(until([&] { return acquire(0, "r", {"carol"}) != 0; }, 30s)) << "nor the other way round";
    EXPECT_GE(tested->elapsed(), sent + 4s);
}

}  // namespace
}  // namespace holdfast::store::contract
