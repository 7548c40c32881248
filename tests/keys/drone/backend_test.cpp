#include "keys/drone/backend.h"

#include "keys/drone/orders_for_tests.h"

namespace holdfast::keys::drone {
namespace {

/// One whose command runs.
Backend running(SpawnOrder order = spawn_order()) {
    Backend backend{std::move(order), at(0s)};
    EXPECT_TRUE(backend.step(at(0s)).launch);
    backend.starting(4000);
    backend.running(at(1s));
    return backend;
}

/// A renewal that moves the deadlines to these, and the end after them.
lease::HolderDeadlines renewed(HolderInstant renew, HolderInstant soft, HolderInstant hard) {
    return lease::HolderDeadlines{lease::HolderDeadlines::Stated{renew, soft, hard, hard + 10s}};
}

SpawnOrder probed_order() {
    SpawnOrder order = spawn_order();
    order.spawn.ready = {Readiness::How::tcp};
    return order;
}

TEST(Backend, goes_through_its_states_in_order) {
    Backend backend{probed_order(), at(0s)};
    EXPECT_EQ(backend.state(), BackendState::loading);
    EXPECT_TRUE(backend.step(at(0s)).launch);
    EXPECT_FALSE(backend.step(at(0s)).launch) << "launched once";
    backend.starting(4000);
    EXPECT_EQ(backend.state(), BackendState::starting);
    backend.running(at(1s));
    EXPECT_EQ(backend.state(), BackendState::waiting);
    backend.probed(true, at(2s));
    EXPECT_EQ(backend.state(), BackendState::ready);
    backend.terminate(Severity::soft, at(3s));
    EXPECT_EQ(backend.state(), BackendState::terminating);
    backend.step(at(50s));
    EXPECT_EQ(backend.state(), BackendState::hard_terminating);
    backend.ended({.exit_code = 143, .forced = true});
    EXPECT_TRUE(backend.step(at(51s)).ended);
    EXPECT_FALSE(backend.step(at(51s)).ended) << "told once";
    EXPECT_EQ(backend.state(), BackendState::terminated);
    EXPECT_EQ(backend.reason(), EndReason::terminated);
    EXPECT_EQ(backend.exit_code(), 143);
}

TEST(Backend, knows_since_when_it_is_in_its_state) {
    Backend backend = running(probed_order());
    backend.probed(true, at(2s));
    backend.step(at(2s));
    backend.step(at(9s));
    EXPECT_EQ(backend.state_since(), at(2s));
    backend.terminate(Severity::soft, at(10s));
    backend.step(at(10s));
    EXPECT_EQ(backend.state_since(), at(10s));
}

TEST(Backend, never_goes_back_to_an_earlier_state) {
    Backend backend = running(probed_order());
    backend.terminate(Severity::soft, at(2s));
    backend.probed(true, at(3s));
    EXPECT_EQ(backend.state(), BackendState::terminating);
    backend.starting(1);
    EXPECT_EQ(backend.state(), BackendState::terminating);
}

TEST(Backend, is_ready_once_it_runs_if_nothing_is_to_be_probed) {
    EXPECT_EQ(running().state(), BackendState::ready);
}

TEST(Backend, is_not_started_if_the_key_has_run_out) {
    Backend backend{spawn_order(), at(40s)};
    EXPECT_FALSE(backend.step(at(40s)).launch);
    EXPECT_EQ(backend.reason(), EndReason::key_lost);
    EXPECT_FALSE(backend.step(at(41s)).ended) << "told once, with the first step";
    EXPECT_TRUE(backend.is_terminated());
}

TEST(Backend, does_not_believe_in_deadlines_that_the_key_cannot_have) {
    SpawnOrder order = spawn_order("b-1", at(1000h));
    const Backend backend{order, at(0s)};
    EXPECT_EQ(backend.deadlines().hard(), at(50s));
    EXPECT_LE(backend.deadlines().soft(), backend.deadlines().hard());
}

TEST(Backend, stops_at_the_soft_deadline_and_is_killed_at_the_hard_one) {
    Backend backend = running();
    EXPECT_FALSE(backend.step(at(40s) - 1ns).stop_by);
    EXPECT_EQ(backend.next_due(), at(40s));
    EXPECT_EQ(backend.step(at(40s)).stop_by, at(50s));
    EXPECT_EQ(backend.reason(), EndReason::key_lost);
    EXPECT_FALSE(backend.step(at(41s)).stop_by) << "told once";
    EXPECT_EQ(backend.next_due(), at(50s));
}

TEST(Backend, a_renewal_moves_the_deadlines_and_the_guardian_is_told) {
    Backend backend = running();
    EXPECT_EQ(backend.renewal_at(), at(30s));
    backend.renewing();
    EXPECT_EQ(backend.renewal_at(), HolderInstant::max()) << "one at a time";
    backend.renewed(renewed(at(60s), at(70s), at(80s)), at(31s));
    const auto needs = backend.step(at(31s));
    ASSERT_TRUE(needs.deadlines);
    EXPECT_EQ(needs.deadlines->hard, at(80s));
    EXPECT_FALSE(backend.step(at(45s)).stop_by);
    EXPECT_EQ(backend.renewal_at(), at(60s));
}

TEST(Backend, a_renewal_does_not_take_a_stop_back) {
    Backend backend = running();
    backend.renewing();
    EXPECT_TRUE(backend.step(at(40s)).stop_by);
    backend.renewed(renewed(at(60s), at(70s), at(80s)), at(41s));
    EXPECT_FALSE(backend.step(at(41s)).deadlines);
    EXPECT_EQ(backend.deadlines().hard(), at(50s));
}

TEST(Backend, a_renewal_that_is_answered_after_the_end_changes_nothing) {  // T3
    Backend backend = running();
    backend.renewing();
    backend.renewed(renewed(at(60s), at(70s), at(80s)), at(50s));
    EXPECT_EQ(backend.step(at(50s)).stop_by, at(50s));
    EXPECT_EQ(backend.reason(), EndReason::key_lost);
}

TEST(Backend, a_renewal_that_failed_is_tried_again_before_the_soft_deadline) {
    Backend backend = running();
    backend.renewing();
    backend.not_renewed(at(35s));
    EXPECT_GT(backend.renewal_at(), at(35s));
    EXPECT_LT(backend.renewal_at(), at(40s));
}

TEST(Backend, a_lost_key_stops_it_at_once_with_a_short_grace) {
    Backend backend = running();
    backend.lost(at(10s));
    EXPECT_FALSE(backend.holds());
    EXPECT_EQ(backend.step(at(10s)).stop_by, at(10s) + Backend::grace_when_lost);
    Backend late = running();
    late.lost(at(50s) - 10ms);
    EXPECT_EQ(late.step(at(50s) - 10ms).stop_by, at(50s)) << "never past the hard deadline";
}

TEST(Backend, a_hard_order_hurries_a_soft_one_but_not_the_other_way_round) {
    Backend backend = running();
    backend.terminate(Severity::soft, at(2s));
    EXPECT_EQ(backend.step(at(2s)).stop_by, at(50s));
    backend.terminate(Severity::hard, at(3s));
    EXPECT_EQ(backend.step(at(3s)).stop_by, at(3s));
    EXPECT_EQ(backend.state(), BackendState::hard_terminating);
    backend.terminate(Severity::soft, at(4s));
    EXPECT_FALSE(backend.step(at(4s)).stop_by);
}

TEST(Backend, that_is_to_stop_before_it_was_started_never_starts) {
    Backend backend{spawn_order(), at(0s)};
    backend.terminate(Severity::soft, at(0s));
    const auto needs = backend.step(at(0s));
    EXPECT_FALSE(needs.launch);
    EXPECT_TRUE(needs.ended);
}

TEST(Backend, is_probed_again_and_again_one_at_a_time) {
    Backend backend = running(probed_order());
    EXPECT_TRUE(backend.step(at(1s)).probe);
    EXPECT_FALSE(backend.step(at(2s)).probe) << "one is under way";
    backend.probed(false, at(2s));
    EXPECT_FALSE(backend.step(at(2s)).probe);
    EXPECT_GT(backend.next_due(), at(2s));
    EXPECT_TRUE(backend.step(backend.next_due()).probe);
}

TEST(Backend, that_is_not_ready_in_time_is_stopped) {
    SpawnOrder order = probed_order();
    order.spawn.start_timeout = 5s;
    Backend backend = running(order);
    EXPECT_FALSE(backend.step(at(5s) - 1ns).stop_by);
    EXPECT_TRUE(backend.step(at(5s)).stop_by);
    EXPECT_EQ(backend.reason(), EndReason::start_timed_out);
}

TEST(Backend, that_was_ready_in_time_may_go_on) {
    SpawnOrder order = probed_order();
    order.spawn.start_timeout = 5s;
    Backend backend = running(order);
    backend.probed(true, at(4s));
    EXPECT_FALSE(backend.step(at(6s)).stop_by);
}

TEST(Backend, ends_when_nobody_was_connected_for_so_long) {
    SpawnOrder order = spawn_order();
    order.spawn.max_idle = 10s;
    Backend backend = running(order);
    EXPECT_TRUE(backend.watched_for_idleness());
    backend.connections(true, at(8s));
    EXPECT_FALSE(backend.step(at(18s) - 1ns).stop_by);
    EXPECT_TRUE(backend.step(at(18s)).stop_by);
    EXPECT_EQ(backend.reason(), EndReason::idle);
}

TEST(Backend, ends_after_its_lifetime) {
    SpawnOrder order = spawn_order();
    order.spawn.lifetime = 10s;
    Backend backend = running(order);
    EXPECT_FALSE(backend.step(at(11s) - 1ns).stop_by) << "it counts from when it ran";
    EXPECT_TRUE(backend.step(at(11s)).stop_by);
    EXPECT_EQ(backend.reason(), EndReason::lifetime);
}

TEST(Backend, says_why_it_ended) {
    Backend by_itself = running();
    by_itself.ended({.exit_code = 3});
    EXPECT_EQ(by_itself.reason(), EndReason::exited);
    Backend by_its_guardian = running();
    by_its_guardian.ended({.exit_code = 137, .forced = true});
    EXPECT_EQ(by_its_guardian.reason(), EndReason::key_lost);
    Backend never{spawn_order(), at(0s)};
    never.step(at(0s));
    never.not_started("no such command");
    EXPECT_EQ(never.reason(), EndReason::internal);
    EXPECT_EQ(never.message(), "no such command");
}

}  // namespace
}  // namespace holdfast::keys::drone
