#include <gtest/gtest.h>

#include "keys/controller/controller_desk.h"
#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

/// Waits for orders as a drone does.
struct Listener {
    explicit Listener(ControllerDesk& at, const std::string& drone = "d1", Duration wait = 7s) {
        OrdersRequest request = at.for_orders(drone);
        request.wait = wait;
        ticket = at.controller().endpoint().orders(
            request, [this](authority::Answer<OrdersAnswer> answer) { got = std::move(answer); });
    }
    std::size_t count() const { return std::get<OrdersAnswer>(got.value()).orders.size(); }

    DroneEndpoint::Ticket ticket = 0;
    std::optional<authority::Answer<OrdersAnswer>> got;
};

TEST(Orders, reach_a_drone_that_waits_for_them_at_once) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const Listener listener(desk);
    EXPECT_FALSE(listener.got);
    desk.connect(desk.to_start("room-1"));
    EXPECT_EQ(listener.count(), 1U);
}

TEST(Orders, are_none_when_the_wait_is_over) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const Listener listener(desk);
    const Listener longer(desk, "d1", 1h);
    EXPECT_EQ(listener.count(), 0U) << "a second call ends the first";
    desk.pass(limits::orders_wait - 1ms);
    EXPECT_FALSE(longer.got);
    desk.pass(1ms);
    EXPECT_EQ(longer.count(), 0U) << "nobody waits longer than that";
}

TEST(Orders, wait_for_a_drone_that_went_away_while_it_waited) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const Listener gone(desk);
    desk.controller().endpoint().cancel(gone.ticket);
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::no_drone) << "it may be dead";
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    EXPECT_EQ(gone.count(), 0U);
    desk.controller().terminate(connected->backend.id, Severity::soft);
    EXPECT_FALSE(desk.is_held(*connected)) << "nobody was told of it, so nothing can have been started";
}

TEST(Orders, that_a_drone_stops_to_wait_for_put_off_whoever_connects_until_it_speaks_again) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    desk.orders("d1");
    desk.report("d1", *connected, {BackendState::ready, {}, {}, "h:1"});
    std::vector<std::uint64_t> done;
    for (const Order& order : desk.orders("d1"))
        done.push_back(order.number);
    OrdersRequest waits = desk.for_orders("d1", done);
    waits.wait = 20s;
    const auto ticket = desk.controller().endpoint().orders(waits, [](const authority::Answer<OrdersAnswer>&) {});
    ASSERT_NE(ticket, 0U);
    EXPECT_EQ(desk.connect(desk.to_key("room-1"))->backend.progress.address, "h:1");
    desk.controller().endpoint().cancel(ticket);
    EXPECT_EQ(desk.refusal(desk.to_key("room-1")), Code::no_drone) << "it may be dead, and what it ran with it";
    desk.drone_is_there("d1");
    EXPECT_EQ(desk.connect(desk.to_key("room-1"))->backend.progress.address, "h:1");
}

TEST(Orders, that_a_drone_does_not_ask_for_again_once_its_connection_has_ended_send_nobody_to_its_backends) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    const std::string id = connected->backend.id;
    OrdersRequest request = desk.for_orders("d1");
    request.connection = 7;
    EXPECT_EQ(desk.controller().endpoint().orders(request, [](const authority::Answer<OrdersAnswer>&) {}), 0U)
        << "answered at once";
    desk.report("d1", *connected, {BackendState::ready, {}, {}, "h:1"});
    std::vector<std::string> watched;
    desk.controller().watch(id, [&](const BackendView& view) { watched.push_back(view.backend.progress.address); });
    desk.controller().endpoint().connection_ended("d1", 6);
    EXPECT_EQ(desk.connect(desk.to_key("room-1"))->backend.progress.address, "h:1") << "that was an earlier one";
    desk.controller().endpoint().connection_ended("d1", 7);
    EXPECT_EQ(desk.refusal(desk.to_key("room-1")), Code::no_drone);
    EXPECT_EQ(desk.refusal(desk.to_start("room-2")), Code::no_drone) << "nothing is started there either";
    EXPECT_EQ(desk.state_of(id).state, BackendState::ready) << "states only move forward";
    EXPECT_EQ(desk.state_of(id).address, "") << "but nobody is sent there";
    EXPECT_TRUE(desk.controller().backend(id)->drone_heard_ago);
    EXPECT_FALSE(desk.controller().drone("d1")->healthy);
    desk.drone_is_there("d1");
    EXPECT_EQ(desk.connect(desk.to_key("room-1"))->backend.progress.address, "h:1");
    EXPECT_EQ(desk.state_of(id).address, "h:1");
    EXPECT_EQ(watched, (std::vector<std::string>{"", "h:1"}));
}

TEST(Orders, of_a_new_life_are_not_in_doubt_when_the_connection_of_the_former_ends) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    OrdersRequest request = desk.for_orders("d1");
    request.connection = 7;
    EXPECT_EQ(desk.controller().endpoint().orders(request, [](const authority::Answer<OrdersAnswer>&) {}), 0U);
    desk.drone_begins_again("d1", "life-2", "life-1");
    desk.controller().endpoint().connection_ended("d1", 7);
    EXPECT_TRUE(desk.controller().drone("d1")->healthy);
}

TEST(Orders, are_sent_again_until_they_are_done) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    desk.connect(desk.to_start("room-1"));
    const auto first = desk.orders("d1");
    desk.connect(desk.to_start("room-2"));
    const auto again = desk.orders("d1");
    ASSERT_EQ(again.size(), 2U);
    EXPECT_EQ(again[0].number, first[0].number);
    EXPECT_EQ(desk.orders("d1", {first[0].number}).size(), 1U);
    EXPECT_EQ(desk.orders("d1", {again[0].number, again[1].number}).size(), 0U);
}

TEST(Orders, that_another_life_of_the_controller_gave_are_not_taken_for_those_of_this_one) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    desk.connect(desk.to_start("room-1"));
    const auto number = desk.orders("d1")[0].number;
    OrdersRequest request = desk.for_orders("d1", {number});
    request.controller = "controller-of-yesterday";
    std::size_t left = 0;
    desk.controller().endpoint().orders(
        request, [&](authority::Answer<OrdersAnswer> answer) { left = std::get<OrdersAnswer>(answer).orders.size(); });
    EXPECT_EQ(left, 1U);
}

TEST(Orders, carry_deadlines_on_the_drones_clock) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    desk.pass(3s);
    desk.connect(desk.to_start("room-1"));
    const std::uint64_t taken_at = desk.clock_ms();
    desk.pass(2s);
    const KeyDeadlines deadlines = start_in(desk.orders("d1").at(0)).deadlines;
    EXPECT_EQ(clock_ms(deadlines.renew), taken_at + 30'000);
    EXPECT_EQ(clock_ms(deadlines.soft), taken_at + 40'000);
    EXPECT_EQ(clock_ms(deadlines.hard), taken_at + 50'000);
}

TEST(Orders, have_deadlines_in_order_also_when_the_last_heartbeat_is_long_ago) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const Listener listener(desk, "d1", 20s);
    desk.pass(15s);
    OrdersRequest late = desk.for_orders("d1");
    late.clock_ms -= 44'000;  // it was under way all the while
    late.wait = 20s;
    std::optional<OrdersAnswer> got;
    desk.controller().endpoint().orders(
        late, [&](authority::Answer<OrdersAnswer> answer) { got = std::get<OrdersAnswer>(answer); });
    desk.pass(19s);
    desk.connect(desk.to_start("room-1"));
    const auto& deadlines = start_in(got.value().orders.at(0)).deadlines;
    EXPECT_EQ(clock_ms(deadlines.renew), desk.clock_ms() + 30'000)
        << "by the clock that was heard first, which was the latest";
    EXPECT_LT(deadlines.renew, deadlines.soft);
    EXPECT_LT(deadlines.soft, deadlines.hard);
}

TEST(Orders, are_never_late_whatever_the_delay_of_what_the_drone_says) {
    // The drone reads its clock before it sends: what arrives is behind, and so is what is made of it.
    ControllerDesk desk;
    int answers = 0;
    for (const std::uint64_t delay_ms : {0, 1, 500, 40'000}) {
        const std::string drone = "d" + std::to_string(delay_ms);
        Heartbeat heartbeat = desk.word_of(drone);
        heartbeat.pool = drone;
        heartbeat.clock_ms -= delay_ms;
        desk.say(heartbeat);
        ConnectRequest request = desk.to_start("room-" + drone);
        request.spawn->pool = drone;
        desk.connect(request);
        OrdersRequest ask = desk.for_orders(drone);
        ask.clock_ms -= delay_ms;
        desk.controller().endpoint().orders(ask, [&](authority::Answer<OrdersAnswer> answer) {
            const auto& deadlines = start_in(std::get<OrdersAnswer>(answer).orders.at(0)).deadlines;
            EXPECT_EQ(clock_ms(deadlines.hard), desk.clock_ms() + 50'000 - delay_ms);
            ++answers;
        });
    }
    EXPECT_EQ(answers, 4);
}

TEST(Orders, of_a_key_that_has_run_out_are_dropped) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    desk.pass(40s);
    desk.drone_is_there("d1");
    desk.pass(20s);
    EXPECT_TRUE(desk.orders("d1").empty());
    EXPECT_EQ(desk.state_of(connected->backend.id).state, BackendState::terminated);
    EXPECT_EQ(desk.state_of(connected->backend.id).reason, EndReason::key_lost);
}

TEST(Orders, to_end_a_backend_reach_its_drone_once) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    const std::string id = connected->backend.id;
    const auto starts = desk.orders("d1");
    desk.report("d1", *connected, {BackendState::ready});
    ASSERT_TRUE(std::holds_alternative<BackendView>(desk.controller().terminate(id, Severity::soft)));
    desk.controller().terminate(id, Severity::soft);
    auto orders = desk.orders("d1", {starts[0].number});
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(std::get<TerminateOrder>(orders[0].what).how, Severity::soft);
    desk.controller().terminate(id, Severity::hard);
    desk.controller().terminate(id, Severity::soft);
    orders = desk.orders("d1");
    ASSERT_EQ(orders.size(), 1U) << "a hard one takes the place of a soft one";
    EXPECT_EQ(std::get<TerminateOrder>(orders[0].what).how, Severity::hard);
    desk.report("d1", *connected, {BackendState::terminated, EndReason::terminated});
    EXPECT_TRUE(desk.orders("d1").empty()) << "it has ended";
    EXPECT_FALSE(desk.is_held(*connected));
}

TEST(Orders, to_end_what_may_have_been_started_leave_the_key_to_its_drone) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1"));
    desk.orders("d1");  // whether the answer arrives, nobody knows
    desk.controller().terminate(connected->backend.id, Severity::hard);
    EXPECT_TRUE(desk.is_held(*connected));
    EXPECT_EQ(desk.state_of(connected->backend.id).state, BackendState::scheduled);
    EXPECT_EQ(desk.orders("d1").size(), 2U);
}

TEST(Orders, to_end_what_nobody_knows_are_refused) {
    ControllerDesk desk(2);
    EXPECT_EQ(std::get<authority::Refused>(desk.controller().terminate("b-1", Severity::soft)).code,
              Code::unknown_backend);
    desk.drone_is_there("d1", "life-1", 0);
    const auto connected = desk.connect(desk.to_start("room-1"), 0);
    desk.connect(desk.to_key("room-1"), 1);
    EXPECT_EQ(std::get<authority::Refused>(desk.controller(1).terminate(connected->backend.id, Severity::soft)).code,
              Code::unknown_drone)
        << "the drone has not spoken to this controller yet";
}

TEST(Orders, of_one_answer_are_bounded) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    for (int i = 0; i < 50; ++i)
        desk.connect(desk.to_start("room-" + std::to_string(i)));
    const auto first = desk.orders("d1");
    EXPECT_EQ(first.size(), limits::orders_per_answer);
    std::vector<std::uint64_t> done;
    for (const Order& order : first)
        done.push_back(order.number);
    EXPECT_EQ(desk.orders("d1", done).size(), 50 - first.size());
}

TEST(Orders, of_one_answer_are_bounded_in_bytes_but_never_none) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    for (int i = 0; i < 12; ++i) {
        ConnectRequest request = desk.to_start("room-" + std::to_string(i));
        request.spawn->spawn.args = {std::string(60'000, 'x')};
        desk.connect(request);
    }
    EXPECT_EQ(desk.orders("d1").size(), 8U);
}

TEST(Orders, are_for_one_life_of_a_drone) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    OrdersRequest request = desk.for_orders("d1");
    request.life = "life-0";
    std::optional<Code> code;
    const auto note = [&](const authority::Answer<OrdersAnswer>& answer) {
        code = std::get<authority::Refused>(answer).code;
    };
    desk.controller().endpoint().orders(request, note);
    EXPECT_EQ(code, Code::unknown_drone);
    code.reset();
    desk.controller().endpoint().orders(desk.for_orders("d2"), note);
    EXPECT_EQ(code, Code::unknown_drone);
}

}  // namespace
}  // namespace holdfast::keys::controller
