#include <gtest/gtest.h>

#include "keys/controller/controller_desk.h"

namespace holdfast::keys::controller {
namespace {

/// A controller whose server has lost its memory and grants nothing for a minute; the life before issued tokens up to
/// a thousand.
struct Recovering {
    Recovering()
        : authority({.durable = durable,
                     .policy = {},
                     .tokens_issued = 1000,
                     .wall_ms = 500,
                     .recovering_until = Instant{1060s}}),
          store(authority.listener(), {1, 2}),
          controller({authority, "life-2-of-the-controller", 1}) {
        authority.use(store);
        at(Instant{1000s});
    }
    void at(Instant now) {
        while (store.advance(now)) {
        }
        authority.advance(now);
        controller.advance(now);
    }
    HeartbeatAnswer say(lease::Token token, std::optional<Duration> holds_for, const std::string& to,
                        BackendState state = BackendState::ready, const std::string& drone = "d1") {
        Heartbeat heartbeat;
        heartbeat.drone = drone;
        heartbeat.life = "life-1";
        heartbeat.pool = "default";
        heartbeat.capacity = 10;
        heartbeat.all = true;
        heartbeat.backends = {
            {"b-" + drone, {"default", "room-1", "blue"}, token, {state, {}, {}, "h:1"}, 60s, holds_for}};
        heartbeat.reassert_to = to;
        HeartbeatAnswer got;
        controller.endpoint().heartbeat(
            heartbeat, [&](authority::Answer<HeartbeatAnswer> answer) { got = std::get<HeartbeatAnswer>(answer); });
        return got;
    }
    authority::Answer<Connected> connect(const std::string& tag) {
        std::optional<authority::Answer<Connected>> got;
        ConnectRequest request = ControllerDesk::to_start("room-1", tag);
        controller.connects().connect(request, [&](authority::Answer<Connected> answer) { got = std::move(answer); });
        return got.value();
    }

    authority::TestDurable durable;
    authority::Authority authority;
    store::memory::MemoryStore store;
    Controller controller;
};

constexpr const char* here = "life-2-of-the-controller";

TEST(Reassertion, keeps_a_key_and_its_token_over_a_loss_of_memory) {
    Recovering server;
    EXPECT_EQ(server.say(900, 20s, here).reasserted, std::vector<std::string>{"b-d1"});
    const auto connected = std::get<Connected>(server.connect("blue"));
    EXPECT_EQ(connected.backend.id, "b-d1");
    EXPECT_EQ(connected.backend.token, 900U);
    EXPECT_FALSE(connected.spawned);
    EXPECT_EQ(std::get<authority::Refused>(server.connect("green")).code, Code::key_tag_mismatch);
    server.at(Instant{1039s});
    EXPECT_EQ(std::get<Connected>(server.connect("blue")).backend.token, 900U) << "to the soft deadline of a whole TTL";
    server.at(Instant{1059s});
    EXPECT_EQ(std::get<authority::Refused>(server.connect("blue")).code, Code::no_drone)
        << "taken for a whole TTL from then on";
    server.at(Instant{1060s});
    server.say(900, {}, "");
    const auto next = std::get<Connected>(server.connect("green"));
    EXPECT_GT(next.backend.token, 1000U) << "above every token of the life before (G3)";
}

TEST(Reassertion, is_only_for_what_a_drone_still_holds) {
    Recovering server;
    EXPECT_TRUE(server.say(900, std::nullopt, here).reasserted.empty());
    EXPECT_TRUE(server.say(900, Duration::zero(), here).reasserted.empty());
    EXPECT_TRUE(server.say(900, 20s, here, BackendState::terminated).reasserted.empty());
}

TEST(Reassertion, is_for_the_controller_that_was_meant) {
    Recovering server;
    EXPECT_TRUE(server.say(900, 20s, "life-1-of-the-controller").reasserted.empty());
    EXPECT_EQ(std::get<authority::Refused>(server.connect("blue")).code, Code::recovering);
    std::vector<Code> why;
    server.controller.connects().connect(
        ControllerDesk::to_key("room-1", "blue"),
        [&](const authority::Answer<Connected>& answer) { why.push_back(std::get<authority::Refused>(answer).code); });
    EXPECT_EQ(why, std::vector<Code>{Code::recovering}) << "it may well have a backend, so later, not never";
}

TEST(Reassertion, is_awaited_before_a_backend_is_said_to_be_unknown) {  // K5
    Recovering server;
    std::vector<Code> why;
    const auto ask = [&] {
        server.controller.why_unknown("b-d1",
                                      [&why](const authority::Refused& refused) { why.push_back(refused.code); });
    };
    ask();
    server.at(Instant{1009s});
    ask();
    server.at(Instant{1011s});
    ask();
    EXPECT_EQ(why, (std::vector<Code>{Code::recovering, Code::recovering, Code::unknown_backend}));
}

TEST(Reassertion, of_a_token_that_was_never_issued_is_refused) {
    Recovering server;
    EXPECT_TRUE(server.say(1001, 20s, here).reasserted.empty());
}

TEST(Reassertion, is_too_late_once_the_server_grants_again) {
    Recovering server;
    server.at(Instant{1060s});
    EXPECT_TRUE(server.say(900, 20s, here).reasserted.empty());
}

TEST(Reassertion, of_two_drones_gives_the_key_to_one) {
    Recovering server;
    EXPECT_EQ(server.say(900, 20s, here).reasserted.size(), 1U);
    EXPECT_TRUE(server.say(800, 20s, here, BackendState::ready, "d2").reasserted.empty());
    EXPECT_TRUE(server.say(950, 20s, here, BackendState::ready, "d3").reasserted.empty());
    EXPECT_EQ(server.say(900, 20s, here).reasserted.size(), 1U) << "and to that one again";
}

}  // namespace
}  // namespace holdfast::keys::controller
