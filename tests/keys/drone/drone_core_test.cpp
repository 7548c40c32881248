#include "keys/drone/drone_core.h"

#include <algorithm>

#include "keys/drone/orders_for_tests.h"

namespace holdfast::keys::drone {
namespace {

/// A drone and what it asked for last.
struct World {
    explicit World(DroneCore::Settings settings) : core(std::move(settings), at(0s)) { step(at(0s)); }
    explicit World(std::size_t controllers = 1, std::size_t capacity = 10)
        : World(DroneCore::Settings{.controllers = controllers, .self = {.capacity = capacity}}) {}

    void step(HolderInstant now) {
        for (Effect& effect : core.step(now))
            effects.push_back(std::move(effect));
    }

    template <class T>
    std::optional<T> take() {
        for (auto at = effects.begin(); at != effects.end(); ++at)
            if (auto* found = std::get_if<T>(&*at)) {
                T taken = std::move(*found);
                effects.erase(at);
                return taken;
            }
        return std::nullopt;
    }

    /// Answers the heartbeat that is under way.
    Heartbeat answer_heartbeat(HolderInstant now, HeartbeatAnswer answer = {.controller = "c1"}) {
        const auto sent = take<SendHeartbeat>();
        EXPECT_TRUE(sent);
        if (!sent) return {};
        core.on_heartbeat(sent->ask, answer, now);
        step(now);
        return sent->ask.message;
    }

    OrdersRequest answer_orders(HolderInstant now, std::vector<Order> orders, const std::string& life = "c1") {
        const auto sent = take<SendOrders>();
        EXPECT_TRUE(sent);
        if (!sent) return {};
        core.on_orders(sent->ask, OrdersAnswer{life, std::move(orders)}, now);
        step(now);
        return sent->ask.message;
    }

    /// A backend that runs.
    void spawn(const SpawnOrder& order, HolderInstant now) {
        answer_orders(now, {{.number = next_number++, .what = order}});
        if (!take<Launch>()) return;
        core.on_starting(order.backend, 4000);
        core.on_running(order.backend, now);
        step(now);
    }

    void answer_renewal(HolderInstant now, const client::RenewReply& reply) {
        const auto sent = take<SendRenewal>();
        ASSERT_TRUE(sent);
        const RenewAnswer answer{0, std::vector<client::RenewReply>(sent->ask.leases.size(), reply)};
        core.on_renewal(sent->ask, answer, now);
        step(now);
    }

    DroneCore core;
    std::vector<Effect> effects;
    std::uint64_t next_number = 1;
};

const client::Renewed a_minute{{{20s, 40s, 50s, 60s}, 60s}};

TEST(DroneCore, says_who_it_is_before_it_takes_orders) {
    World world;
    EXPECT_FALSE(world.take<SendOrders>());
    const auto ask = world.answer_heartbeat(at(0s));
    EXPECT_TRUE(ask.all);
    EXPECT_TRUE(world.take<SendOrders>());
}

TEST(DroneCore, carries_an_order_out_once_however_often_it_comes) {
    World world;
    world.answer_heartbeat(at(0s));
    world.answer_orders(at(1s), {{19, spawn_order()}});
    EXPECT_TRUE(world.take<Launch>());
    const auto ask = world.answer_orders(at(2s), {{19, spawn_order()}});
    EXPECT_EQ(ask.done, std::vector<std::uint64_t>{19});
    EXPECT_FALSE(world.take<Launch>());
}

TEST(DroneCore, does_not_start_again_what_has_ended_and_was_reported) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    world.answer_heartbeat(at(1s));
    world.answer_heartbeat(at(1s));
    world.core.on_ended("b-1", {.exit_code = 0});
    world.step(at(2s));
    EXPECT_EQ(world.answer_heartbeat(at(2s)).backends.at(0).progress.state, BackendState::terminated);
    EXPECT_EQ(world.core.find("b-1"), nullptr) << "everybody knows, so it is forgotten";
    world.answer_orders(at(3s), {{7, spawn_order()}});
    EXPECT_FALSE(world.take<Launch>());
}

TEST(DroneCore, acknowledges_no_order_to_another_life_of_the_controller) {
    World world;
    world.answer_heartbeat(at(0s));
    world.answer_orders(at(1s), {{19, spawn_order()}});
    world.answer_heartbeat(at(1s), {.controller = "c2", .send_all = true});
    world.answer_orders(at(2s), {}, "c2");
    const auto ask = world.take<SendOrders>()->ask.message;
    EXPECT_TRUE(ask.done.empty());
    EXPECT_EQ(ask.controller, "c2");
}

TEST(DroneCore, takes_no_orders_from_a_controller_that_it_has_not_met) {
    World world;
    world.answer_heartbeat(at(0s));
    world.answer_orders(at(1s), {{1, spawn_order()}}, "c2");
    EXPECT_FALSE(world.take<Launch>());
    world.answer_heartbeat(at(1s), {.controller = "c2"});
    world.answer_orders(at(2s), {{1, spawn_order()}}, "c2");
    EXPECT_TRUE(world.take<Launch>());
}

TEST(DroneCore, says_a_report_again_until_it_is_answered) {
    World world;
    world.answer_heartbeat(at(0s));
    world.answer_orders(at(1s), {{1, spawn_order()}});
    const auto first = world.take<SendHeartbeat>();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->ask.message.backends.size(), 1U);
    world.core.on_heartbeat(first->ask, Error{Code::unreachable, "no answer"}, at(2s));
    world.step(at(2s));
    EXPECT_FALSE(world.take<SendHeartbeat>()) << "not at once";
    world.step(at(4s));
    EXPECT_EQ(world.answer_heartbeat(at(4s)).backends.size(), 1U);
    EXPECT_FALSE(world.take<SendHeartbeat>()) << "there is nothing new";
    world.step(at(11s));
    EXPECT_TRUE(world.take<SendHeartbeat>()->ask.message.backends.empty());
}

TEST(DroneCore, tells_every_controller_and_each_of_them_what_it_has_not_heard) {
    World world{2};
    world.answer_heartbeat(at(0s));
    world.answer_heartbeat(at(0s));
    world.answer_orders(at(1s), {{1, spawn_order()}});
    EXPECT_EQ(world.answer_heartbeat(at(1s)).backends.size(), 1U);
    EXPECT_EQ(world.answer_heartbeat(at(1s)).backends.size(), 1U);
}

TEST(DroneCore, sends_all_to_a_controller_that_knows_nothing) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    world.answer_heartbeat(at(1s));
    world.answer_heartbeat(at(1s));
    world.step(at(9s));
    world.answer_heartbeat(at(9s), {.controller = "c2", .send_all = true});
    const auto all = world.answer_heartbeat(at(9s), {.controller = "c2"});
    EXPECT_TRUE(all.all);
    EXPECT_EQ(all.backends.size(), 1U);
    EXPECT_GT(all.backends[0].holds_for, 30s);
}

TEST(DroneCore, names_all_that_may_run_however_much_else_there_is_to_say) {
    World world{1, DroneCore::max_capacity};
    world.answer_heartbeat(at(0s));
    for (std::size_t i = 0; i < DroneCore::max_capacity + 50; ++i)
        world.answer_orders(at(1s),
                            {{i, spawn_order((i < DroneCore::max_capacity ? "z-" : "a-") + std::to_string(i))}});
    world.answer_heartbeat(at(1s), {.controller = "c2", .send_all = true});
    const auto all = world.answer_heartbeat(at(1s), {.controller = "c2"});
    EXPECT_TRUE(all.all);
    EXPECT_EQ(all.backends.size(), DroneCore::max_capacity);
    EXPECT_TRUE(std::all_of(all.backends.begin(), all.backends.end(),
                            [](const BackendReport& report) { return report.id.starts_with("z-"); }));
}

TEST(DroneCore, renews_all_that_is_due_in_one_message) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order("b-1"), at(1s));
    world.spawn(spawn_order("b-2"), at(1s));
    world.step(at(29s));
    EXPECT_FALSE(world.take<SendRenewal>());
    world.step(at(30s));
    const auto sent = world.take<SendRenewal>();
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->ask.leases, (std::vector<std::string>{"KEY:room-b-1#17", "KEY:room-b-2#17"}));
}

TEST(DroneCore, counts_from_when_the_renewal_was_sent) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    world.step(at(30s));
    world.answer_renewal(at(35s), a_minute);
    const auto moved = world.take<MoveDeadlines>();
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->deadlines.hard, at(80s));
    EXPECT_EQ(world.core.find("b-1")->renewal_at(), at(60s)) << "half the TTL";
}

TEST(DroneCore, a_key_that_is_lost_stops_its_backend_at_once) {
    for (const Code code : {Code::lease_expired, Code::lease_released, Code::lease_revoked, Code::not_holder}) {
        World world;
        world.answer_heartbeat(at(0s));
        world.spawn(spawn_order(), at(1s));
        world.step(at(30s));
        world.answer_renewal(at(31s), Error{code, "no"});
        const auto stop = world.take<StopBackend>();
        ASSERT_TRUE(stop) << name_of(code);
        EXPECT_EQ(stop->kill_at, at(32s));
    }
}

TEST(DroneCore, a_key_that_cannot_be_renewed_now_is_tried_until_the_soft_deadline) {
    for (const Code code : {Code::unavailable, Code::storage_failed, Code::banned}) {
        World world;
        world.answer_heartbeat(at(0s));
        world.spawn(spawn_order(), at(1s));
        world.step(at(30s));
        world.answer_renewal(at(31s), Error{code, "no"});
        EXPECT_FALSE(world.take<StopBackend>()) << name_of(code);
        world.step(at(39s));
        EXPECT_TRUE(world.take<SendRenewal>()) << name_of(code);
        world.step(at(40s));
        const auto stop = world.take<StopBackend>();
        ASSERT_TRUE(stop) << name_of(code);
        EXPECT_EQ(stop->kill_at, at(50s)) << "on its timeline";
    }
}

/// A drone whose server does not know its key any more, and the heartbeat that it sends for it.
HeartbeatAsk forgotten(World& world) {
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    world.answer_heartbeat(at(1s));
    world.answer_heartbeat(at(1s));
    world.step(at(30s));
    world.take<SendHeartbeat>();  // the one that was due anyway
    world.core.on_heartbeat({}, HeartbeatAnswer{.controller = "c1"}, at(30s));
    world.answer_renewal(at(31s), Error{Code::unknown_lease, "no"});
    const auto sent = world.take<SendHeartbeat>();
    EXPECT_TRUE(sent);
    return sent ? sent->ask : HeartbeatAsk{};
}

TEST(DroneCore, reasserts_a_key_that_the_server_has_forgotten) {
    World world;
    const HeartbeatAsk ask = forgotten(world);
    EXPECT_EQ(ask.message.reassert_to, "c1");
    ASSERT_EQ(ask.message.backends.size(), 1U);
    world.core.on_heartbeat(ask, HeartbeatAnswer{.controller = "c1", .reasserted = {"b-1"}}, at(32s));
    world.step(at(32s));
    EXPECT_FALSE(world.take<StopBackend>());
    world.answer_renewal(at(32s), a_minute);
    EXPECT_TRUE(world.take<MoveDeadlines>()) << "and renews it";
}

TEST(DroneCore, renews_at_once_with_a_controller_that_began_anew) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    world.answer_heartbeat(at(1s));
    world.step(at(2s));
    EXPECT_FALSE(world.take<SendRenewal>()) << "it is due at half the TTL";
    world.answer_heartbeat(at(2s), HeartbeatAnswer{.controller = "c2"});
    world.answer_renewal(at(2s), Error{Code::recovering, "no"});
    auto sent = world.take<SendHeartbeat>();
    ASSERT_TRUE(sent);
    if (!sent->ask.message.reassert_to) {  // the one that was under way
        world.core.on_heartbeat(sent->ask, HeartbeatAnswer{.controller = "c2"}, at(2s));
        world.step(at(2s));
        sent = world.take<SendHeartbeat>();
        ASSERT_TRUE(sent);
    }
    EXPECT_EQ(sent->ask.message.reassert_to, "c2") << "which has lost its memory";
}

TEST(DroneCore, a_key_that_is_not_taken_back_is_lost) {
    World world;
    const HeartbeatAsk ask = forgotten(world);
    world.core.on_heartbeat(ask, HeartbeatAnswer{.controller = "c1"}, at(32s));
    world.step(at(32s));
    EXPECT_TRUE(world.take<StopBackend>());
    EXPECT_EQ(world.core.find("b-1")->reason(), EndReason::key_lost);
}

TEST(DroneCore, a_reassertion_to_a_life_that_is_over_decides_nothing) {
    World world;
    const HeartbeatAsk ask = forgotten(world);
    world.core.on_heartbeat(ask, HeartbeatAnswer{.controller = "c2"}, at(32s));
    world.step(at(32s));
    EXPECT_FALSE(world.take<StopBackend>());
    const auto again = world.take<SendHeartbeat>();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->ask.message.reassert_to, "c2");
}

TEST(DroneCore, does_not_reassert_a_key_that_was_barred) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order("b-1"), at(1s));
    world.spawn(spawn_order("b-2"), at(1s));
    world.step(at(30s));
    const auto first = world.take<SendRenewal>();
    ASSERT_EQ(first->ask.backends.size(), 2U);
    const client::RenewReply barred = Error{Code::renewal_barred, "no"}, silent = Error{Code::unavailable, "not now"};
    world.core.on_renewal(first->ask, {0, std::vector{barred, silent}}, at(31s));
    // The server is started anew, and knows neither the leases nor the bar.
    world.step(at(33s));
    while (const auto told = world.take<SendHeartbeat>()) {
        world.core.on_heartbeat(told->ask, HeartbeatAnswer{.controller = "c1"}, at(33s));
        world.step(at(33s));
    }
    const auto second = world.take<SendRenewal>();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->ask.backends, std::vector<std::string>{"b-2"}) << "what was barred is not renewed any more";
    world.core.on_renewal(second->ask, {0, std::vector<client::RenewReply>{Error{Code::recovering, "no"}}}, at(33s));
    world.step(at(33s));
    const auto sent = world.take<SendHeartbeat>();
    ASSERT_TRUE(sent);
    ASSERT_TRUE(sent->ask.message.reassert_to);
    ASSERT_EQ(sent->ask.message.backends.size(), 2U) << "it is told of, for it is alive";
    EXPECT_FALSE(sent->ask.message.backends[0].holds_for);
    EXPECT_TRUE(sent->ask.message.backends[1].holds_for);
    world.core.on_heartbeat(sent->ask, HeartbeatAnswer{.controller = "c1", .reasserted = {"b-2"}}, at(34s));
    world.step(at(40s));
    EXPECT_EQ(world.take<StopBackend>()->kill_at, at(50s)) << "it ends on its timeline";
}

TEST(DroneCore, says_once_why_no_controller_takes_it_and_then_that_one_does) {
    World world;
    std::vector<std::string> said;
    const auto answer = [&](const Result<HeartbeatAnswer>& result, HolderInstant now) {
        world.core.on_heartbeat(world.take<SendHeartbeat>()->ask, result, now);
        world.step(now);
        while (const auto note = world.take<Note>())
            said.push_back(note->text);
    };
    const Error alive{Code::drone_alive, "another drone has the id"};
    answer(alive, at(0s));
    for (const HolderInstant now : {at(1s), at(2s)}) {
        world.step(now);
        answer(alive, now);
    }
    EXPECT_EQ(said, std::vector<std::string>{"not registered: another drone has the id"});
    world.step(at(3s));
    answer(HeartbeatAnswer{.controller = "c1"}, at(3s));
    EXPECT_EQ(said.back(), "registered with controller c1");
}

TEST(DroneCore, refuses_more_than_it_has_room_for) {
    World world{1, 1};
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order("b-1"), at(1s));
    world.answer_orders(at(1s), {{2, spawn_order("b-2")}});
    EXPECT_FALSE(world.take<Launch>());
    EXPECT_EQ(world.core.find("b-2")->reason(), EndReason::internal);
    EXPECT_TRUE(world.core.find("b-2")->is_terminated()) << "its key is given back with the report";
}

TEST(DroneCore, ignores_orders_once_it_can_remember_no_more_backends) {
    World world{{.controllers = 1, .self = {.capacity = 1}, .max_known = 3}};
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order("b-1"), at(1s));
    world.answer_heartbeat(at(1s));
    for (const char* refused : {"b-2", "b-3"}) {
        world.answer_orders(at(1s), {{world.next_number++, spawn_order(refused)}});
        world.answer_heartbeat(at(1s));
    }
    ASSERT_EQ(world.core.known(), 3U) << "a refused backend is remembered like any other";
    for (const char* ignored : {"b-4", "b-5", "b-6"})
        world.answer_orders(at(1s), {{world.next_number++, spawn_order(ignored)}});
    EXPECT_EQ(world.core.known(), 3U);
    EXPECT_EQ(world.core.find("b-4"), nullptr) << "nothing is reported of it: its key expires";

    const HolderInstant expired = at(111s);  // past the hard deadline by a TTL
    world.answer_orders(expired, {{world.next_number++, spawn_order("b-7", expired)}});
    EXPECT_NE(world.core.find("b-7"), nullptr) << "those that were refused are forgotten";
}

TEST(DroneCore, stops_everything_gives_keys_back_reports_and_is_finished) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    world.answer_heartbeat(at(1s));
    world.answer_heartbeat(at(1s));
    world.core.stop(Severity::soft, at(2s));
    world.step(at(2s));
    EXPECT_TRUE(world.take<StopBackend>());
    EXPECT_TRUE(world.answer_heartbeat(at(2s)).draining);
    EXPECT_FALSE(world.core.finished(at(2s)));
    world.core.on_ended("b-1", {.exit_code = 0, .forced = true});
    world.step(at(3s));
    EXPECT_FALSE(world.core.finished(at(3s))) << "nobody has heard of it yet";
    world.answer_heartbeat(at(3s));
    EXPECT_TRUE(world.core.finished(at(3s)));
}

TEST(DroneCore, does_not_wait_for_ever_to_be_heard) {
    World world;
    world.core.stop(Severity::soft, at(1s));
    world.step(at(1s));
    EXPECT_TRUE(world.core.finished(at(1min)));
}

TEST(DroneCore, starts_nothing_once_it_stops) {
    World world;
    world.answer_heartbeat(at(0s));
    world.core.stop(Severity::soft, at(1s));
    world.answer_orders(at(1s), {{1, spawn_order()}});
    EXPECT_FALSE(world.take<Launch>());
    EXPECT_EQ(world.core.find("b-1")->reason(), EndReason::terminated);
}

TEST(DroneCore, kills_everything_if_another_drone_has_its_id) {
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    const auto sent = world.take<SendHeartbeat>();
    world.core.on_heartbeat(sent->ask, Error{Code::stale_drone, "another life"}, at(2s));
    world.step(at(2s));
    EXPECT_EQ(world.take<StopBackend>()->kill_at, at(2s));
    EXPECT_TRUE(world.core.usurped());
}

TEST(DroneCore, reports_an_end_again_until_somebody_answers) {  // K6: that is what gives the key back
    World world;
    world.answer_heartbeat(at(0s));
    world.spawn(spawn_order(), at(1s));
    world.core.on_ended("b-1", {.exit_code = 0});
    world.step(at(2s));
    const auto sent = world.take<SendHeartbeat>();
    ASSERT_TRUE(sent);
    world.core.on_heartbeat(sent->ask, Error{Code::unreachable, "no answer"}, at(2s));
    world.step(at(20s));
    const Heartbeat again = world.answer_heartbeat(at(20s));
    ASSERT_EQ(again.backends.size(), 1U);
    EXPECT_EQ(again.backends[0].progress.state, BackendState::terminated);
    EXPECT_FALSE(again.backends[0].holds_for);
}

TEST(EndedIds, are_kept_while_an_order_for_them_may_come) {
    EndedIds ids;
    ids.add("b", at(20s));
    ids.add("a", at(10s));
    ids.drop_old(at(9s));
    EXPECT_EQ(ids.size(), 2U);
    ids.drop_old(at(10s));
    EXPECT_FALSE(ids.contains("a"));
    EXPECT_TRUE(ids.contains("b"));
}

}  // namespace
}  // namespace holdfast::keys::drone
