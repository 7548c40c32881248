#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(ResourceRoutes, give_one_thing_one_name) {
    TestDoor door;
    TestClient client = door.connect();
    for (const auto& [asked, named] : std::vector<std::pair<std::string, std::string>>{
             {" FILE://src//./main.c/ ", "FILE:/src/main.c"}, {"  job//7/ ", "job/7"}, {"FILE:/lib/", "FILE:/lib"}}) {
        const Answer answer = ask_for(client, asked, "alice");
        ASSERT_EQ(answer.status, 201) << answer.body;
        EXPECT_EQ(answer.text("/leases/0/resource"), named);
        EXPECT_EQ(ask_for(client, named, "bob").text("/conflicts/0/holder"), "alice") << named;
    }
    const Answer merged =
        client.ask("POST", "/v1/leases", R"({"holder":"a","intents":[{"resource":"x/"},{"resource":"x"}]})");
    EXPECT_EQ(merged.size("/leases"), 1U) << merged.body;
}

TEST(ResourceRoutes, name_the_neighbour_that_is_in_the_way_of_a_tree) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "FILE:/src/net/tcp.c", "bob", R"(,"namespace":"ns")");
    const Answer tree = ask_for(client, "FILE:/src/**", "alice", R"(,"namespace":"ns")");
    EXPECT_EQ(tree.status, 409) << tree.body;
    EXPECT_EQ(tree.text("/conflicts/0/resource"), "FILE:/src/net/tcp.c");
    EXPECT_EQ(tree.text("/conflicts/0/holder"), "bob");
    take(client, "FILE:/doc/**", "carol");
    const Answer file = ask_for(client, "FILE:/doc/a/b.md", "alice");
    EXPECT_EQ(file.text("/conflicts/0/resource"), "FILE:/doc/**") << file.body;
    take(client, "FILE:/doc", "alice");
    take(client, "FILE:/src/**", "alice");
}

TEST(ResourceRoutes, refuse_a_path_that_may_lead_anywhere) {
    TestDoor door;
    TestClient client = door.connect();
    const auto expect_refused = [](const Answer& answer, const char* named) {
        EXPECT_EQ(answer.status, 400) << answer.body;
        EXPECT_EQ(answer.code(), "invalid_argument");
        EXPECT_NE(answer.text("/error/message").find(named), std::string::npos) << answer.body;
    };
    expect_refused(ask_for(client, "FILE:/src/../etc/passwd", "a"), "..");
    expect_refused(ask_for(client, "FILE:/**/main.c", "a"), "**");
    expect_refused(ask_for(client, "   ", "a"), "resource");
    expect_refused(ask_for(client, " @ns/r", "a"), "@");
    expect_refused(client.ask("POST", "/v1/leases",
                              R"({"holder":"a","intents":[{"resource":"FILE:/a"},{"resource":"FILE:../a"}]})"),
                   "intents[1].");
}

TEST(ResourceRoutes, tell_the_place_in_the_queue) {
    TestDoor door;
    TestClient client = door.connect(), first = door.connect(), second = door.connect();
    take(client, "r", "bob");
    EXPECT_EQ(ask_for(client, "r", "alice").number("/queue_position"), 1) << "the place it would have";
    first.send(acquire_request("carol", "r", 60'000));
    door.wait_for_waiters(1);
    second.send(acquire_request("dave", "r", 5000));
    door.wait_for_waiters(2);
    EXPECT_EQ(ask_for(client, "r", "alice").number("/queue_position"), 3);
    door.advance(5s);
    const Answer timeout = second.read();
    EXPECT_EQ(timeout.code(), "wait_timeout");
    EXPECT_EQ(timeout.text("/verdict"), "WAIT");
    EXPECT_EQ(timeout.number("/queue_position"), 2);
}

}  // namespace
}  // namespace holdfast::doors::http
