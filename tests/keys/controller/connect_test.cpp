#include <gtest/gtest.h>

#include "keys/controller/controller_desk.h"
#include "keys/controller/late_store.h"
#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

using Connect = ControllerDesk;

TEST(Connect, to_a_free_key_starts_a_backend_on_a_drone) {
    Connect desk;
    desk.drone_is_there("d1");
    const auto connected = desk.connect(desk.to_start("room-1", "blue"));
    ASSERT_TRUE(connected);
    EXPECT_TRUE(connected->spawned);
    EXPECT_EQ(connected->backend.drone, "d1");
    EXPECT_EQ(connected->backend.key, (Key{"default", "room-1", "blue"}));
    EXPECT_EQ(connected->backend.progress.state, BackendState::scheduled);
    EXPECT_TRUE(desk.is_held(*connected)) << "the key is taken before the drone hears of it (K2)";
    const auto orders = desk.orders("d1");
    ASSERT_EQ(orders.size(), 1U);
    const SpawnOrder& order = start_in(orders[0]);
    EXPECT_EQ(order.backend, connected->backend.id);
    EXPECT_EQ(order.token, connected->backend.token);
    EXPECT_EQ(order.spawn.command, "room-server");
}

TEST(Connect, to_a_live_key_returns_its_backend_with_or_without_something_to_start) {
    Connect desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1"));
    desk.report("d1", *first, {BackendState::ready, {}, {}, "10.0.0.7:41"});
    for (const auto& request : {desk.to_start("room-1"), desk.to_key("room-1")}) {
        const auto again = desk.connect(request);
        ASSERT_TRUE(again);
        EXPECT_FALSE(again->spawned);
        EXPECT_EQ(again->backend.id, first->backend.id);
        EXPECT_EQ(again->backend.token, first->backend.token);
        EXPECT_EQ(again->backend.progress.address, "10.0.0.7:41");
    }
    EXPECT_EQ(desk.orders("d1").size(), 1U);
}

TEST(Connect, is_refused_if_the_key_is_held_with_another_tag) {
    Connect desk;
    desk.drone_is_there("d1");
    desk.connect(desk.to_start("room-1", "blue"));
    EXPECT_EQ(desk.refusal(desk.to_start("room-1", "green")), Code::key_tag_mismatch);
    EXPECT_EQ(desk.refusal(desk.to_key("room-1")), Code::key_tag_mismatch);
}

TEST(Connect, is_refused_if_the_key_is_free_and_there_is_nothing_to_start) {
    Connect desk;
    desk.drone_is_there("d1");
    EXPECT_EQ(desk.refusal(desk.to_key("room-1")), Code::nothing_to_start);
}

TEST(Connect, is_refused_and_takes_nothing_if_no_drone_has_room) {
    Connect desk;
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::no_drone);
    Heartbeat small = desk.word_of("d1");
    small.capacity = 1;
    desk.say(small);
    ASSERT_TRUE(desk.connect(desk.to_start("room-1")));
    EXPECT_EQ(desk.refusal(desk.to_start("room-2")), Code::no_drone) << "the one place is taken";
    ConnectRequest elsewhere = desk.to_start("room-3");
    elsewhere.spawn->pool = "gpu";
    EXPECT_EQ(desk.refusal(elsewhere), Code::no_drone) << "no drone of that pool";
    EXPECT_EQ(desk.authority.active_leases(), 1U);
}

TEST(Connect, without_a_name_gets_a_random_key) {
    Connect desk;
    desk.drone_is_there("d1");
    const auto one = desk.connect(desk.to_start(""));
    const auto other = desk.connect(desk.to_start(""));
    ASSERT_TRUE(one && other);
    EXPECT_NE(one->backend.key.name, other->backend.key.name);
    EXPECT_GE(one->backend.key.name.size(), 16U);
}

TEST(Connect, keeps_namespaces_apart) {
    Connect desk;
    desk.drone_is_there("d1");
    ConnectRequest elsewhere = desk.to_start("room-1");
    elsewhere.key.name_space = "team";
    const auto one = desk.connect(desk.to_start("room-1"));
    const auto other = desk.connect(elsewhere);
    ASSERT_TRUE(one && other);
    EXPECT_TRUE(other->spawned);
    EXPECT_NE(one->backend.id, other->backend.id);
}

TEST(Connect, to_an_expired_key_starts_anew_with_a_higher_token) {
    Connect desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1", "blue"));
    desk.orders("d1");
    desk.pass(59s);
    desk.drone_is_there("d1");
    EXPECT_EQ(desk.refusal(desk.to_start("room-1", "green")), Code::no_drone) << "never ended early (T2)";
    desk.pass(1s);
    const auto second = desk.connect(desk.to_start("room-1", "green"));
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->spawned);
    EXPECT_GT(second->backend.token, first->backend.token);
    EXPECT_NE(second->backend.id, first->backend.id);
    EXPECT_EQ(desk.state_of(first->backend.id).reason, EndReason::key_lost);
}

TEST(Connect, does_not_remove_a_key_that_was_renewed_in_time) {
    Connect desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1"));
    desk.orders("d1");
    desk.pass(59s);
    ASSERT_TRUE(desk.renew(*first));
    desk.pass(2s);
    desk.drone_is_there("d1");
    const auto again = desk.connect(desk.to_start("room-1"));
    EXPECT_EQ(again->backend.id, first->backend.id);
    EXPECT_EQ(again->backend.token, first->backend.token) << "a renewal keeps the token (G3)";
}

TEST(Connect, waits_until_the_backend_is_ready) {
    Connect desk;
    desk.drone_is_there("d1");
    ConnectRequest request = desk.to_start("room-1");
    request.wait = 30s;
    std::optional<Connected> got;
    desk.controller().connects().connect(
        request, [&](authority::Answer<Connected> answer) { got = std::get<Connected>(answer); });
    ASSERT_FALSE(got);
    const Connected backend = *desk.connect(desk.to_key("room-1"));
    desk.report("d1", backend, {BackendState::waiting});
    EXPECT_FALSE(got);
    desk.report("d1", backend, {BackendState::ready, {}, {}, "h:1"});
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->spawned);
    EXPECT_EQ(got->backend.progress.address, "h:1");
}

TEST(Connect, waits_no_longer_than_it_said_nor_for_one_that_has_ended) {
    Connect desk;
    desk.drone_is_there("d1");
    ConnectRequest request = desk.to_start("room-1");
    request.wait = 30s;
    std::vector<BackendState> got;
    const auto note = [&](const authority::Answer<Connected>& answer) {
        got.push_back(std::get<Connected>(answer).backend.progress.state);
    };
    desk.controller().connects().connect(request, note);
    EXPECT_LE(desk.controller().next_due(), desk.now + 30s);
    desk.pass(30s);
    EXPECT_EQ(got, std::vector{BackendState::scheduled});
    desk.drone_is_there("d1");
    desk.controller().connects().connect(request, note);
    desk.report("d1", *desk.connect(desk.to_key("room-1")), {BackendState::terminated, EndReason::start_timed_out});
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(got[1], BackendState::terminated);
}

TEST(Connect, that_waits_is_given_up_or_told_that_the_server_stops) {
    Connect desk;
    desk.drone_is_there("d1");
    ConnectRequest request = desk.to_start("room-1");
    request.wait = 30s;
    std::vector<Code> got;
    const auto note = [&](const authority::Answer<Connected>& answer) {
        got.push_back(std::get<authority::Refused>(answer).code);
    };
    const auto ticket = desk.controller().connects().connect(request, note);
    desk.controller().connects().connect(request, note);
    desk.controller().connects().cancel(ticket);
    desk.controller().connects().cancel(ticket);
    EXPECT_EQ(got, std::vector{Code::cancelled});
    desk.controller().stop();
    EXPECT_EQ(got, (std::vector{Code::cancelled, Code::stopping}));
    EXPECT_EQ(desk.orders("d1").size(), 1U) << "what was started stays";
}

TEST(Connect, keeps_the_number_of_those_who_wait_within_bounds) {
    Connect desk;
    desk.drone_is_there("d1");
    ConnectRequest request = desk.to_start("room-1");
    request.wait = 30s;
    for (std::size_t i = 0; i < limits::connects; ++i)
        desk.controller().connects().connect(request, [](const authority::Answer<Connected>&) {});
    EXPECT_EQ(desk.refusal(request), Code::too_many_waiters);
    desk.pass(30s);
    EXPECT_TRUE(desk.connect(desk.to_key("room-1")));
}

TEST(Connect, takes_a_key_that_its_backend_left_behind) {
    ControllerDesk desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1"));
    LateStore late(desk.store, 1);
    desk.authority.use(late);
    desk.report("d1", *first, {BackendState::terminated, EndReason::exited});
    std::optional<Connected> got;
    desk.controller().connects().connect(
        desk.to_start("room-1"), [&](authority::Answer<Connected> answer) { got = std::get<Connected>(answer); });
    while (late.step()) {
    }
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->spawned);
    EXPECT_GT(got->backend.token, first->backend.token);
}

TEST(Connect, with_an_id_of_its_own_is_the_same_however_often_it_is_said) {
    Connect desk;
    desk.drone_is_there("d1");
    ConnectRequest request = desk.to_start("room-1");
    request.spawn->id = "b-mine";
    const auto first = desk.connect(request);
    EXPECT_EQ(first->backend.id, "b-mine");
    EXPECT_EQ(desk.connect(request)->backend.token, first->backend.token);
    desk.report("d1", *first, {BackendState::terminated, EndReason::exited});
    const auto after = desk.connect(request);
    ASSERT_TRUE(after);
    EXPECT_FALSE(after->spawned) << "an id is not used twice";
    EXPECT_EQ(after->backend.progress.state, BackendState::terminated);
    request.key.name = "room-2";
    EXPECT_EQ(desk.refusal(request), Code::backend_id_taken);
}

TEST(Connect, passes_on_why_a_key_cannot_be_taken) {
    lease::Policy policy;
    policy.bans["d1"] = {};
    Connect desk(1, policy);
    desk.drone_is_there("d1");
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::banned);
    EXPECT_TRUE(desk.orders("d1").empty()) << "nothing is ordered if the key was not got (K2)";
}

TEST(Connect, does_not_take_somebodys_plain_lease_for_a_backend) {
    Connect desk;
    desk.drone_is_there("d1");
    authority::AcquireRequest plain =
        desk.request("alice", {{"KEY:room-1"}});  // as a server of long ago would have granted it
    plain.caller.acts_for = lease::Owner::keys;
    ASSERT_TRUE(std::holds_alternative<authority::AcquireGranted>(desk.Desk::ask(std::move(plain)).value()));
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::busy);
}

TEST(Connect, is_put_off_once_a_drone_that_says_nothing_has_let_the_soft_deadline_pass) {  // K4, K5
    Connect desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1"));
    desk.report("d1", *first, {BackendState::ready, {}, {}, "h:1"});
    desk.pass(40s - 1ms);
    EXPECT_EQ(desk.connect(desk.to_key("room-1"))->backend.progress.address, "h:1");
    desk.pass(1ms);
    EXPECT_EQ(desk.refusal(desk.to_key("room-1")), Code::no_drone) << "its guardian has asked it to stop";
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::no_drone) << "and the key is taken until it runs out";
    ASSERT_TRUE(desk.renew(*first));
    EXPECT_EQ(desk.connect(desk.to_key("room-1"))->backend.progress.address, "h:1")
        << "it was renewed in time after all";
    desk.pass(40s);
    desk.report("d1", *first, {BackendState::terminating, EndReason::key_lost, {}, "h:1"});
    EXPECT_EQ(desk.connect(desk.to_key("room-1"))->backend.progress.state, BackendState::terminating);
}

TEST(Connect, after_a_restart_is_put_off_until_the_drone_has_told_of_the_backend) {  // K5
    Connect desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1"));
    desk.orders("d1");
    desk.report("d1", *first, {BackendState::ready, {}, {}, "h:1"});
    desk.pass(5s);
    desk.all[0] = std::make_unique<Controller>(Controller::Parts{desk.authority, "controller-again", 99});
    desk.pass(0s);
    EXPECT_EQ(desk.refusal(desk.to_start("room-1")), Code::no_drone);
    EXPECT_FALSE(desk.controller().backend(first->backend.id)) << "nobody is told that it is scheduled";
    std::vector<Code> why;
    const auto note = [&why](const authority::Refused& refused) { why.push_back(refused.code); };
    desk.controller().why_unknown(first->backend.id, note);
    desk.controller().why_unknown("b-none", note);
    EXPECT_EQ(why, (std::vector<Code>{Code::recovering, Code::unknown_backend}));
    const auto unreported = [&desk](const std::string& drone = "") {
        std::optional<UnreportedBackends> got;
        Backends::Filter filter;
        filter.drone = drone;
        desk.controller().unreported(filter, [&](UnreportedBackends found) { got = std::move(found); });
        return got.value();
    };
    ASSERT_EQ(unreported().keys.size(), 1U) << "but its key says that it is there";
    EXPECT_EQ(unreported().keys.front().backend, first->backend.id);
    EXPECT_TRUE(unreported("d2").keys.empty());
    EXPECT_FALSE(unreported().complete) << "drones may have more to tell";
    BackendProgress ready{BackendState::ready, {}, {}, "h:1"};
    ready.state_for = 5s;
    desk.report("d1", *first, ready);
    EXPECT_TRUE(unreported().keys.empty());
    const auto again = desk.connect(desk.to_start("room-1"));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->backend.id, first->backend.id);
    EXPECT_EQ(again->backend.progress.state, BackendState::ready);
    EXPECT_EQ(again->backend.progress.address, "h:1");
    EXPECT_EQ(again->backend.since, desk.now - 5s) << "it is ready since then, whoever asks";
    desk.pass(10s);
    EXPECT_TRUE(unreported().complete);
}

TEST(Connect, through_another_node_finds_the_backend_before_its_drone_has_told_of_it) {
    Connect desk(2);
    desk.drone_is_there("d1", "life-1", 0);
    const auto first = desk.connect(desk.to_start("room-1", "blue"), 0);
    const auto other = desk.connect(desk.to_key("room-1", "blue"), 1);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->backend.id, first->backend.id);
    EXPECT_EQ(other->backend.token, first->backend.token);
    EXPECT_EQ(other->backend.drone, "d1");
    EXPECT_EQ(other->backend.progress.state, BackendState::scheduled);
    EXPECT_EQ(desk.refusal(desk.to_key("room-1", "green"), 1), Code::key_tag_mismatch);
    desk.report("d1", *first, {BackendState::ready, {}, {}, "h:1"}, 1);
    EXPECT_EQ(desk.connect(desk.to_key("room-1", "blue"), 1)->backend.progress.address, "h:1");
}

TEST(Keys, are_listed_with_their_backends) {
    Connect desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1", "blue"));
    desk.lock("alice", "FILE:/a");
    desk.pass(10s);
    std::optional<KeyPage> page;
    desk.controller().keys({}, [&](authority::Answer<KeyPage> answer) { page = std::get<KeyPage>(std::move(answer)); });
    ASSERT_EQ(page.value().keys.size(), 1U);
    const HeldKey& held = page->keys[0];
    EXPECT_EQ(held.key, first->backend.key);
    EXPECT_EQ(held.token, first->backend.token);
    EXPECT_EQ(held.backend, first->backend.id);
    EXPECT_EQ(held.drone, "d1");
    EXPECT_EQ(held.state, BackendState::scheduled);
    EXPECT_EQ(held.expires_in, 50s);
}

TEST(Keys, that_are_barred_cannot_be_renewed) {
    Connect desk;
    desk.drone_is_there("d1");
    const auto first = desk.connect(desk.to_start("room-1"));
    std::optional<authority::Answer<HeldKey>> got;
    const auto note = [&](authority::Answer<HeldKey> answer) { got = std::move(answer); };
    desk.controller().bar({"default", "room-1", ""}, note, {});
    EXPECT_FALSE(std::get<HeldKey>(got.value()).renewable);
    EXPECT_FALSE(desk.renew(*first));
    desk.controller().bar({"default", "room-2", ""}, note, {});
    EXPECT_EQ(std::get<authority::Refused>(got.value()).code, Code::unknown_key);
}

}  // namespace
}  // namespace holdfast::keys::controller
