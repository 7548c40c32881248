#include <gtest/gtest.h>
#include <map>
#include <set>

#include "keys/controller/controller_desk.h"
#include "keys/controller/late_store.h"
#include "support/seeds.h"

namespace holdfast::keys::controller {
namespace {

struct Race {
    std::vector<Connected> connected;
    std::vector<Code> refused;

    auto note() {
        return [this](const authority::Answer<Connected>& answer) {
            if (const auto* got = std::get_if<Connected>(&answer))
                connected.push_back(*got);
            else
                refused.push_back(std::get<authority::Refused>(answer).code);
        };
    }
    std::set<std::string> backends() const {
        std::set<std::string> ids;
        for (const Connected& each : connected)
            ids.insert(each.backend.id);
        return ids;
    }
    std::size_t spawned() const {
        std::size_t count = 0;
        for (const Connected& each : connected)
            count += each.spawned ? 1 : 0;
        return count;
    }
};

TEST(ConnectRace, a_thousand_at_once_start_one_backend_and_all_get_it) {
    ControllerDesk desk;
    for (int i = 0; i < 10; ++i)
        desk.drone_is_there("d" + std::to_string(i));
    Race race;
    for (int i = 0; i < 1000; ++i)
        desk.controller().connects().connect(desk.to_start("room-1"), race.note());
    EXPECT_EQ(race.connected.size(), 1000U);
    EXPECT_EQ(race.backends().size(), 1U);
    EXPECT_EQ(race.spawned(), 1U);
    EXPECT_EQ(desk.authority.active_leases(), 1U);
}

TEST(ConnectRace, a_thousand_at_once_to_two_controllers_on_a_slow_store_start_one_backend_and_all_get_it) {
    for (std::uint64_t seed = first_seed(), end = seed + 50; seed < end; ++seed) {
        ControllerDesk desk(2);
        LateStore late(desk.store, seed);
        desk.authority.use(late);
        for (const std::size_t of : {0, 1})
            for (const char* drone : {"d1", "d2", "d3"})
                desk.drone_is_there(drone, "life-1", of);
        Race race;
        for (int i = 0; i < 1000; ++i) {
            desk.controller(i % 2).connects().connect(desk.to_start("room-1"), race.note());
            if (i % 7 == 0) late.step();
        }
        while (late.step()) {
        }
        ASSERT_EQ(race.connected.size(), 1000U) << "seed " << seed;
        EXPECT_EQ(race.backends().size(), 1U) << "seed " << seed;
        EXPECT_EQ(race.spawned(), 1U) << "seed " << seed;
        std::size_t orders = 0;
        for (const std::size_t of : {0, 1})
            for (const char* drone : {"d1", "d2", "d3"})
                orders += desk.orders(drone, {}, of).size();
        EXPECT_EQ(orders, 1U) << "seed " << seed;
    }
}

TEST(ConnectRace, that_is_lost_again_and_again_is_given_up) {
    // Somebody waits for the key in the store's own queue, and is served before anybody new: the key is never there to
    // be looked at, and never free.
    ControllerDesk desk;
    desk.drone_is_there("d1");
    authority::Caller service;
    service.acts_for = lease::Owner::keys;
    authority::AcquireRequest takes = desk.request("alice", {{"KEY:room-1"}});
    takes.caller = service;
    const auto taken = desk.Desk::ask(std::move(takes)).value();
    const lease::Token first = std::get<authority::AcquireGranted>(taken).leases.front().lease.token;
    authority::AcquireRequest waits = desk.request("bob", {{"KEY:room-1"}});
    waits.caller = service;
    waits.wait = 30s;
    desk.authority.acquire(std::move(waits), [](const authority::AcquireAnswer&) {});
    LateStore late(desk.store, 1);
    desk.authority.use(late);
    Race race;
    desk.controller().connects().connect(desk.to_start("room-1"), race.note());
    desk.authority.release({service, {"KEY:room-1", first}, "alice"},
                           [](const authority::Answer<authority::ReleaseAnswer>&) {});
    while (late.step()) {
    }
    ASSERT_EQ(race.refused.size(), 1U);
    EXPECT_TRUE(race.refused[0] == Code::key_race_lost || race.refused[0] == Code::busy);
    EXPECT_TRUE(desk.orders("d1").empty());
}

TEST(ConnectRace, to_different_tags_is_won_by_one_and_refused_to_the_others) {
    ControllerDesk desk;
    LateStore late(desk.store, 3);
    desk.authority.use(late);
    desk.drone_is_there("d1");
    Race race;
    for (int i = 0; i < 10; ++i)
        desk.controller().connects().connect(desk.to_start("room-1", i % 2 == 0 ? "blue" : "green"), race.note());
    while (late.step()) {
    }
    EXPECT_EQ(race.connected.size(), 5U);
    EXPECT_EQ(race.refused, std::vector<Code>(5, Code::key_tag_mismatch));
}

TEST(ConnectRace, whoever_has_nothing_to_start_is_not_in_the_way_of_who_has) {
    ControllerDesk desk;
    LateStore late(desk.store, 3);
    desk.authority.use(late);
    desk.drone_is_there("d1");
    Race race;
    desk.controller().connects().connect(desk.to_key("room-1"), race.note());
    desk.controller().connects().connect(desk.to_start("room-1"), race.note());
    desk.controller().connects().connect(desk.to_key("room-1"), race.note());
    while (late.step()) {
    }
    EXPECT_EQ(race.refused, std::vector{Code::nothing_to_start});
    EXPECT_EQ(race.connected.size(), 2U);
}

TEST(ConnectRace, gives_the_key_back_if_its_drone_begins_a_new_life_meanwhile) {
    ControllerDesk desk;
    LateStore late(desk.store, 3);
    desk.authority.use(late);
    desk.drone_is_there("d1", "life-1");
    Race race;
    desk.controller().connects().connect(desk.to_start("room-1"), race.note());
    ASSERT_TRUE(late.step());  // looked; the key is being taken now
    desk.drone_begins_again("d1", "life-2", "life-1");
    while (late.step()) {
    }
    ASSERT_EQ(race.connected.size(), 1U);
    EXPECT_EQ(race.connected[0].backend.life, "life-2") << "the order is for the life that is there now";
    EXPECT_EQ(desk.authority.active_leases(), 1U);
}

TEST(ConnectRace, one_id_is_for_one_backend) {
    ControllerDesk desk;
    LateStore late(desk.store, 3);
    desk.authority.use(late);
    desk.drone_is_there("d1");
    Race race;
    for (const char* name : {"room-1", "room-2"}) {
        ConnectRequest request = desk.to_start(name);
        request.spawn->id = "b-mine";
        desk.controller().connects().connect(std::move(request), race.note());
    }
    while (late.step()) {
    }
    EXPECT_EQ(race.connected.size(), 1U);
    EXPECT_EQ(race.refused, std::vector{Code::backend_id_taken});
}

TEST(ConnectRace, answers_that_come_after_the_controller_is_gone_are_for_nobody) {
    ControllerDesk desk;
    LateStore late(desk.store, 3);
    desk.authority.use(late);
    desk.drone_is_there("d1");
    Race race;
    desk.controller().connects().connect(desk.to_start("room-1"), race.note());
    desk.all.clear();
    while (late.step()) {
    }
    EXPECT_TRUE(race.connected.empty());
    EXPECT_EQ(desk.authority.active_leases(), 0U);
}

}  // namespace
}  // namespace holdfast::keys::controller
