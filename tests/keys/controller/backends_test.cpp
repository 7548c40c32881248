#include "keys/controller/backends.h"

#include <gtest/gtest.h>

#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

constexpr Instant start{1000s};

Backend a_backend(const std::string& id, const std::string& drone = "d") {
    return {id, {"default", "room-" + id, ""}, 1, drone, "life", "", {}, start};
}

TEST(Backends, only_move_forward) {
    Backends backends;
    backends.add(a_backend("a"));
    EXPECT_TRUE(backends.move("a", {BackendState::ready, {}, {}, "h:1"}, start + 1s));
    EXPECT_FALSE(backends.move("a", {BackendState::starting}, start + 2s));
    EXPECT_EQ(backends.find("a")->progress.state, BackendState::ready);
    EXPECT_EQ(backends.find("a")->since, start + 1s);
    EXPECT_TRUE(backends.move("a", {BackendState::terminating, EndReason::idle}, start + 3s));
    EXPECT_TRUE(backends.move("a", {BackendState::terminated, EndReason::exited, 0}, start + 4s));
    EXPECT_EQ(backends.find("a")->progress.reason, EndReason::idle) << "the first cause is the cause";
    EXPECT_EQ(backends.find("a")->progress.exit_code, 0);
    EXPECT_FALSE(backends.move("a", {BackendState::ready}, start + 5s));
}

TEST(Backends, are_counted_by_state_and_by_drone) {
    Backends backends;
    backends.add(a_backend("a"));
    backends.add(a_backend("b"));
    backends.add(a_backend("c", "e"));
    backends.move("a", {BackendState::ready}, start);
    backends.move("b", {BackendState::terminated}, start);
    EXPECT_EQ(backends.live_of("d"), std::vector<std::string>{"a"});
    EXPECT_EQ(backends.live_count("e"), 1U);
    EXPECT_EQ(backends.live_count("nobody"), 0U);
    EXPECT_EQ(backends.counts()[static_cast<std::size_t>(BackendState::ready)], 1U);
    EXPECT_EQ(backends.counts()[static_cast<std::size_t>(BackendState::terminated)], 1U);
}

TEST(Backends, that_ended_are_answerable_for_some_minutes) {
    Backends backends;
    backends.add(a_backend("a"));
    backends.move("a", {BackendState::terminated, EndReason::exited}, start);
    EXPECT_EQ(backends.next_tidy(), start + limits::backend_kept);
    backends.tidy(start + limits::backend_kept - 1ns);
    EXPECT_NE(backends.find("a"), nullptr);
    backends.tidy(start + limits::backend_kept);
    EXPECT_EQ(backends.find("a"), nullptr);
    EXPECT_EQ(backends.counts()[static_cast<std::size_t>(BackendState::terminated)], 0U);
}

TEST(Backends, that_ended_make_room_oldest_first) {
    Backends backends;
    for (std::size_t i = 0; i <= limits::ended_backends; ++i) {
        const std::string id = std::to_string(i);
        backends.add(a_backend(id));
        backends.move(id, {BackendState::terminated}, start + std::chrono::milliseconds(i));
    }
    backends.tidy(start + 1min);
    EXPECT_EQ(backends.find("0"), nullptr);
    EXPECT_NE(backends.find("1"), nullptr);
}

TEST(Backends, are_listed_by_id_in_pages) {
    Backends backends;
    for (const char* id : {"c", "a", "b", "d"})
        backends.add(a_backend(id, id == std::string("b") ? "e" : "d"));
    auto page = backends.list({}, "", 2);
    ASSERT_EQ(page.backends.size(), 2U);
    EXPECT_EQ(page.backends[0]->id, "a");
    EXPECT_EQ(page.next, "b");
    page = backends.list({}, page.next, 2);
    EXPECT_EQ(page.backends[1]->id, "d");
    EXPECT_EQ(page.next, "");
    Backends::Filter filter;
    filter.drone = "e";
    EXPECT_EQ(backends.list(filter, "", 10).backends.size(), 1U);
    filter = {};
    filter.name = "room-c";
    EXPECT_EQ(backends.list(filter, "", 10).backends.at(0)->id, "c");
    filter.state = BackendState::ready;
    EXPECT_TRUE(backends.list(filter, "", 10).backends.empty());
}

TEST(Backends, tell_their_watchers_of_each_change_also_those_who_leave_meanwhile) {
    Backends backends;
    backends.add(a_backend("a"));
    std::vector<std::string> told;
    std::uint64_t second = 0;
    const auto first = backends.watch("a", [&](const Backend& backend) {
        told.push_back("first " + std::string(to_string(backend.progress.state)));
        backends.unwatch("a", second);
    });
    second = backends.watch("a", [&](const Backend&) { told.emplace_back("second"); });
    backends.move("a", {BackendState::loading}, start);
    backends.move("a", {BackendState::loading}, start);
    backends.unwatch("a", first);
    backends.move("a", {BackendState::ready}, start);
    EXPECT_EQ(told, std::vector<std::string>{"first loading"});
}

}  // namespace
}  // namespace holdfast::keys::controller
