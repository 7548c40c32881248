#include <gtest/gtest.h>
#include <map>

#include "keys/controller/controller_desk.h"
#include "keys/controller/drones.h"
#include "keys/controller/late_store.h"
#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

TEST(Drone, is_healthy_for_45_seconds_after_its_last_word) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    desk.pass(45s - 1ms);
    EXPECT_TRUE(desk.controller().drone("d1")->healthy);
    desk.pass(1ms);
    EXPECT_FALSE(desk.controller().drone("d1")->healthy);
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::no_drone);
    desk.orders("d1");
    EXPECT_TRUE(desk.controller().drone("d1")->healthy) << "a call for orders is a word, too";
}

TEST(Drone, is_asked_for_all_it_has_by_a_controller_that_does_not_know_it) {
    ControllerDesk desk;
    EXPECT_TRUE(desk.drone_is_there("d1").send_all);
    Heartbeat all = desk.word_of("d1");
    all.all = true;
    EXPECT_FALSE(std::get<HeartbeatAnswer>(desk.say(all)).send_all);
    EXPECT_FALSE(desk.drone_is_there("d1").send_all);
    Connected unheard_of;
    unheard_of.backend = {"b-1", {"default", "room-1", ""}, 17, "d1", "life-1", ""};
    Heartbeat heartbeat = desk.word_of("d1");
    heartbeat.backends = {desk.report_of(unheard_of, {BackendState::ready, {}, {}, "h:1"})};
    EXPECT_TRUE(std::get<HeartbeatAnswer>(desk.say(heartbeat)).send_all);
    EXPECT_EQ(desk.state_of("b-1").address, "h:1") << "and taken at its word";
}

TEST(Drone, has_forgotten_what_it_does_not_name_among_all_it_has) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto told = desk.connect(desk.to_start("room-1"));
    const auto ordered = desk.connect(desk.to_start("room-2"));
    desk.orders("d1");
    desk.report("d1", *told, {BackendState::ready});
    Heartbeat late = desk.word_of("d1");
    late.all = true;
    late.clock_ms -= 1;
    desk.say(late);
    EXPECT_EQ(desk.state_of(told->backend.id).state, BackendState::ready) << "it said that before";
    Heartbeat all = desk.word_of("d1");
    all.all = true;
    desk.say(all);
    EXPECT_EQ(desk.state_of(told->backend.id).state, BackendState::terminated);
    EXPECT_EQ(desk.state_of(ordered->backend.id).state, BackendState::scheduled) << "that may be about to start";
}

TEST(Drone, that_begins_a_new_life_has_nothing_left_of_the_earlier_one) {
    ControllerDesk desk;
    desk.drone_is_there("d1", "life-1");
    const auto ready = desk.connect(desk.to_start("room-1"));
    desk.orders("d1");
    desk.report("d1", *ready, {BackendState::ready});
    const auto ordered = desk.connect(desk.to_start("room-2"));
    desk.drone_begins_again("d1", "life-2", "life-1");
    for (const auto& each : {ready, ordered}) {
        EXPECT_EQ(desk.state_of(each->backend.id).reason, EndReason::drone_lost);
        EXPECT_FALSE(desk.is_held(*each)) << "its key is free at once";
    }
    const auto again = desk.connect(desk.to_start("room-1"));
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->spawned);
    EXPECT_GT(again->backend.token, ready->backend.token);
}

TEST(Drone, that_does_not_know_that_the_present_life_is_over_is_not_believed_while_that_is_heard) {
    ControllerDesk desk;
    desk.drone_is_there("d1", "life-2");
    const auto connected = desk.connect(desk.to_start("room-1"));
    OrdersRequest listen = desk.for_orders("d1");
    listen.life = "life-2";
    desk.controller().endpoint().orders(listen, [](const authority::Answer<OrdersAnswer>&) {});
    desk.report("d1", *connected, {BackendState::ready}, 0, "life-2");
    Heartbeat other = desk.word_of("d1", "life-1");  // of another machine, or under way since before life-2
    other.earlier_lives = {"life-0"};
    other.clock_ms += 1000;
    EXPECT_EQ(std::get<authority::Refused>(desk.say(other)).code, Code::drone_alive);
    EXPECT_TRUE(desk.is_held(*connected));
    desk.pass(45s);
    EXPECT_TRUE(std::holds_alternative<HeartbeatAnswer>(desk.say(other)));
    EXPECT_TRUE(desk.is_held(*connected)) << "it may be alive: its key runs out";
    EXPECT_EQ(desk.state_of(connected->backend.id).state, BackendState::ready);
    desk.pass(15s);
    EXPECT_EQ(desk.state_of(connected->backend.id).reason, EndReason::drone_lost);
}

TEST(Drone, of_an_earlier_life_is_refused) {
    ControllerDesk desk;
    desk.drone_is_there("d1", "life-1");
    Heartbeat third = desk.word_of("d1", "life-3");
    third.earlier_lives = {"life-1", "life-2"};
    desk.say(third);
    for (const char* life : {"life-1", "life-2"})
        EXPECT_EQ(std::get<authority::Refused>(desk.say(desk.word_of("d1", life))).code, Code::stale_drone) << life;
    EXPECT_EQ(desk.controller().drone("d1")->life, "life-3");
}

TEST(Drone, cannot_speak_for_the_backends_of_another) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    desk.report("d2", *connected, {BackendState::terminated});
    EXPECT_EQ(desk.state_of(connected->backend.id).state, BackendState::scheduled);
    EXPECT_TRUE(desk.is_held(*connected));
}

TEST(Drone, that_is_silent_loses_what_it_was_never_told_of_at_once) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    desk.pass(20s);
    const auto connected = desk.connect(desk.to_start("room-1"));
    desk.pass(25s);
    desk.pass(1s);
    EXPECT_EQ(desk.state_of(connected->backend.id).reason, EndReason::drone_lost);
    EXPECT_FALSE(desk.is_held(*connected)) << "nothing can have been started (K2)";
}

TEST(Drone, that_is_silent_loses_its_backends_when_their_keys_have_run_out) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    const std::string id = connected->backend.id;
    desk.orders("d1");
    desk.report("d1", *connected, {BackendState::ready});
    desk.pass(40s);
    desk.renew(*connected);  // through another node, say
    desk.pass(6s);
    EXPECT_EQ(desk.controller().backend(id)->drone_heard_ago, 46s);
    EXPECT_EQ(desk.state_of(id).state, BackendState::ready);
    desk.pass(53s);
    EXPECT_EQ(desk.state_of(id).state, BackendState::ready) << "its key has a second to go";
    desk.pass(1s);
    EXPECT_EQ(desk.state_of(id).state, BackendState::terminated);
    EXPECT_EQ(desk.state_of(id).reason, EndReason::drone_lost);
}

/// A backend that is ready, under a key of ten seconds, on a drone that says nothing more.
Connected ready_on_a_lost_drone(ControllerDesk& desk) {
    desk.drone_is_there("d1");
    ConnectRequest request = desk.to_start("room-1");
    request.ttl = 10s;
    const auto connected = desk.connect(std::move(request));
    desk.orders("d1");
    desk.report("d1", connected.value(), {BackendState::ready, {}, {}, "h:1"});
    return connected.value();
}

TEST(Drone, that_is_lost_has_nothing_ready_once_another_has_its_key) {  // K4
    ControllerDesk desk;
    const Connected first = ready_on_a_lost_drone(desk);
    desk.pass(9s);
    desk.drone_is_there("d2");
    desk.pass(1s);
    const auto second = desk.connect(desk.to_start("room-1"));
    ASSERT_TRUE(second && second->spawned);
    EXPECT_EQ(second->backend.drone, "d2");
    desk.pass(0s);
    EXPECT_EQ(desk.state_of(first.backend.id).state, BackendState::terminated);
    EXPECT_EQ(desk.state_of(first.backend.id).reason, EndReason::key_lost);
    EXPECT_NE(desk.state_of(second->backend.id).state, BackendState::terminated);
}

TEST(Drone, that_is_heard_has_nothing_ready_beside_the_next_backend_of_a_key) {  // K4
    ControllerDesk desk(2);
    for (const std::size_t of : {0, 1})
        desk.drone_is_there("d1", "life-1", of);
    ConnectRequest request = desk.to_start("room-1");
    request.ttl = 5s;
    const Connected first = desk.connect(std::move(request)).value();
    desk.orders("d1");
    for (const std::size_t of : {0, 1})
        desk.report("d1", first, {BackendState::ready, {}, {}, "h:1"}, of);
    for (const std::size_t of : {0, 1})
        desk.drone_is_there("d2", "life-1", of);
    desk.pass(6s);
    const Connected second = desk.connect(desk.to_start("room-1"), 1).value();
    ASSERT_EQ(second.backend.drone, "d2");
    LateStore late(desk.store, 1);
    desk.authority.use(late);
    desk.report("d2", second, {BackendState::ready, {}, {}, "h:2"});
    Backends::Filter are_ready;
    are_ready.state = BackendState::ready;
    const BackendPage page = desk.controller().backends(are_ready, "", 10);
    ASSERT_EQ(page.backends.size(), 1U) << "before the store was asked about the first";
    EXPECT_EQ(page.backends.front().backend.id, second.backend.id);
    EXPECT_EQ(desk.state_of(first.backend.id).state, BackendState::terminated);
    desk.pass(0s);
    while (late.step()) {
    }
    EXPECT_EQ(desk.state_of(first.backend.id).reason, EndReason::key_lost);
    desk.authority.use(desk.store);
}

TEST(Drone, that_is_late_has_lost_a_backend_whose_key_has_run_out) {  // K4
    ControllerDesk desk;
    const Connected connected = ready_on_a_lost_drone(desk);
    desk.pass(9s);
    EXPECT_EQ(desk.state_of(connected.backend.id).state, BackendState::ready);
    desk.pass(2s);
    desk.pass(0s);
    EXPECT_EQ(desk.state_of(connected.backend.id).state, BackendState::terminated);
    EXPECT_EQ(desk.state_of(connected.backend.id).reason, EndReason::key_lost);
}

TEST(Drone, that_is_late_keeps_what_it_has_renewed) {
    ControllerDesk desk;
    const Connected connected = ready_on_a_lost_drone(desk);
    for (int i = 0; i < 5; ++i) {
        desk.pass(5s);
        ASSERT_TRUE(desk.renew(connected));
    }
    desk.pass(1s);
    EXPECT_EQ(desk.state_of(connected.backend.id).state, BackendState::ready);
}

TEST(Drone, that_speaks_again_in_time_has_lost_nothing) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    desk.orders("d1");
    desk.report("d1", *connected, {BackendState::ready});
    desk.pass(46s);
    ASSERT_TRUE(desk.controller().backend(connected->backend.id)->drone_heard_ago);
    desk.renew(*connected);
    desk.drone_is_there("d1");
    desk.pass(20s);
    EXPECT_EQ(desk.state_of(connected->backend.id).state, BackendState::ready);
    EXPECT_FALSE(desk.controller().backend(connected->backend.id)->drone_heard_ago);
}

TEST(Drone, can_be_drained_and_told_to_go_on) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    EXPECT_EQ(std::get<authority::Refused>(desk.controller().drain("d2", true)).code, Code::unknown_drone);
    EXPECT_TRUE(std::get<DroneView>(desk.controller().drain("d1", true)).draining);
    EXPECT_TRUE(desk.drone_is_there("d1").drain);
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::no_drone);
    desk.controller().drain("d1", false);
    EXPECT_FALSE(desk.drone_is_there("d1").drain);
    EXPECT_TRUE(desk.connect(desk.to_start("room-1")));
}

TEST(Drone, that_says_that_it_drains_gets_nothing_and_stays_so_for_a_new_controller) {
    ControllerDesk desk;
    Heartbeat draining = desk.word_of("d1");
    draining.draining = true;
    EXPECT_TRUE(std::get<HeartbeatAnswer>(desk.say(draining)).drain);
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::no_drone);
}

TEST(Drone, can_be_forgotten_when_it_is_dead) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    desk.orders("d1");
    EXPECT_EQ(std::get<authority::Refused>(desk.controller().forget_drone("d1")).code, Code::drone_alive);
    desk.pass(45s);
    ASSERT_TRUE(std::holds_alternative<DroneView>(desk.controller().forget_drone("d1")));
    EXPECT_FALSE(desk.controller().drone("d1"));
    EXPECT_TRUE(desk.is_held(*connected)) << "it may have been started: the key runs out";
    desk.pass(15s);
    EXPECT_EQ(desk.state_of(connected->backend.id).reason, EndReason::drone_lost);
}

TEST(Drone, with_the_fewest_backends_is_the_next) {
    ControllerDesk desk;
    for (const char* drone : {"d1", "d2", "d3"})
        desk.drone_is_there(drone);
    std::map<std::string, int> shares;
    for (int i = 0; i < 30; ++i)
        ++shares[desk.connect(desk.to_start("room-" + std::to_string(i)))->backend.drone];
    EXPECT_EQ(shares, (std::map<std::string, int>{{"d1", 10}, {"d2", 10}, {"d3", 10}}));
}

TEST(Drone, that_is_late_gets_something_only_if_no_other_can) {
    ControllerDesk desk;
    desk.drone_is_there("late");
    desk.pass(5s);
    desk.drone_is_there("quick");
    desk.pass(6s);
    for (int i = 2; i < 6; ++i)
        EXPECT_EQ(desk.connect(desk.to_start("room-" + std::to_string(i)))->backend.drone, "quick");
    desk.orders("late");
    EXPECT_EQ(desk.connect(desk.to_start("room-6"))->backend.drone, "late") << "it has the fewest, and speaks again";
    desk.pass(20s);
    EXPECT_TRUE(desk.connect(desk.to_start("room-7"))) << "both are late, and still healthy";
}

TEST(Drone, that_a_key_prefers_is_the_same_for_every_controller) {
    std::map<std::string, int> preferred;
    for (int i = 0; i < 30; ++i) {
        ControllerDesk desk(2);
        for (const char* drone : {"d1", "d2", "d3"}) {
            desk.drone_is_there(drone, "life-1", 0);
            desk.drone_is_there(drone, "life-1", 1);
        }
        const std::string name = "room-" + std::to_string(i);
        const auto first = desk.connect(desk.to_start(name), 0);
        const std::string drone = first->backend.drone;
        ++preferred[drone];
        desk.orders(drone);
        desk.report(drone, *first, {BackendState::terminated}, 0);
        EXPECT_EQ(desk.connect(desk.to_start(name), 1)->backend.drone, drone);
    }
    EXPECT_EQ(preferred.size(), 3U) << "and not the same for every key";
}

TEST(Drone, clock_is_never_shown_ahead_of_what_it_said_and_what_has_passed) {
    Drone drone;
    drone.hear_clock(1'000'000, Instant{100s});
    EXPECT_EQ(drone.clock_ms_at(Instant{100s}), 1'000'000);
    EXPECT_EQ(drone.clock_ms_at(Instant{130s}), 1'030'000);
    drone.hear_clock(1'002'000, Instant{105s});  // three seconds under way
    EXPECT_EQ(drone.clock_ms_at(Instant{105s}), 1'002'000);
    drone.hear_clock(1'001'000, Instant{106s});  // sent before the last
    EXPECT_EQ(drone.clock_ms_at(Instant{106s}), 1'003'000);
    EXPECT_EQ(drone.clock_ms_at(Instant{}), 897'000 + 0) << "also of what has passed";
}

TEST(Drones, are_bounded) {
    ControllerDesk desk;
    for (std::size_t i = 0; i < limits::drones; ++i)
        desk.drone_is_there("d" + std::to_string(i));
    EXPECT_EQ(std::get<authority::Refused>(desk.say(desk.word_of("one-more"))).code, Code::too_many_drones);
    const DronePage page = desk.controller().drones("d99", 3);
    EXPECT_EQ(page.drones.at(0).id, "d990");
    EXPECT_TRUE(page.more);
    EXPECT_EQ(desk.controller().counts().drones, limits::drones);
}

}  // namespace
}  // namespace holdfast::keys::controller
