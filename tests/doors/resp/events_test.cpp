#include "doors/resp/resp_fixture.h"

namespace holdfast::doors::resp {
namespace {

using codec::resp::Value;

TEST(RespEvents, reach_a_subscriber_in_RESP2_as_messages) {
    TestRespDoor door;
    auto subscriber = door.connect();
    auto client = door.connect();
    const Value confirmed = subscriber.ask({"SUBSCRIBE", "lease:granted"});
    EXPECT_EQ(confirmed.items.at(0).text, "subscribe");
    EXPECT_EQ(confirmed.items.at(2).number, 1);
    const auto token = take(client, "a", "bob");
    const Value message = subscriber.read();
    EXPECT_EQ(message.type, Value::Type::array);
    EXPECT_EQ(message.items.at(0).text, "message");
    EXPECT_EQ(message.items.at(1).text, "lease:granted");
    EXPECT_EQ(message.items.at(2).text.find("{\"type\":\"granted\",\"lease\":\"a#" + std::to_string(token)), 0U)
        << message.items.at(2).text;
}

TEST(RespEvents, come_between_the_replies_of_a_connection_in_RESP3) {
    TestRespDoor door;
    auto client = door.connect();
    client.ask({"HELLO", "3"});
    EXPECT_EQ(client.ask({"PSUBSCRIBE", "lease:*"}).type, Value::Type::push);
    client.command({"LEASE.ACQUIRE", "a", "bob", "60000"});
    std::vector<Value> came{client.read(), client.read()};
    EXPECT_EQ(came[0].type, Value::Type::map);
    EXPECT_EQ(came[1].type, Value::Type::push);
    EXPECT_EQ(came[1].items.at(0).text, "pmessage");
    EXPECT_EQ(came[1].items.at(1).text, "lease:*");
    EXPECT_EQ(came[1].items.at(2).text, "lease:granted");
    const std::string token = std::to_string(field(came[0], "token").number);
    client.command({"LEASE.RENEW", "a", token, "bob", "ALSO", "b", "1"});
    EXPECT_EQ(client.read().type, Value::Type::array);
    EXPECT_EQ(client.read().items.at(2).text, "lease:renewed");
}

TEST(RespEvents, tell_of_every_way_a_lease_begins_and_ends) {
    TestRespDoor door;
    auto subscriber = door.connect();
    auto client = door.connect();
    subscriber.ask({"PSUBSCRIBE", "lease:*"});
    const std::string a = std::to_string(take(client, "a", "bob"));
    client.ask({"LEASE.RELEASE", "a", a, "bob"});
    const auto b = static_cast<lease::Token>(take(client, "b", "bob"));
    door.run([&] { door.authority().revoke({"b", b}, [](const authority::Answer<lease::Lease>&) {}); });
    take(client, "c", "bob");
    door.advance(60s);
    std::vector<std::string> channels;
    for (int i = 0; i < 6; ++i)
        channels.push_back(subscriber.read().items.at(2).text);
    EXPECT_EQ(channels, (std::vector<std::string>{"lease:granted", "lease:released", "lease:granted", "lease:revoked",
                                                  "lease:granted", "lease:expired"}));
}

TEST(RespEvents, leave_a_subscriber_in_RESP2_few_other_commands) {
    TestRespDoor door;
    auto client = door.connect();
    client.ask({"SUBSCRIBE", "lease:granted"});
    EXPECT_TRUE(client.ask({"ECHO", "x"}).text.starts_with("ERR Can't execute 'echo': only (P|S)SUBSCRIBE"));
    EXPECT_EQ(client.ask({"PING", "x"}).items.at(1).text, "x");
    EXPECT_EQ(client.ask({"UNSUBSCRIBE"}).items.at(2).number, 0);
    EXPECT_EQ(client.ask({"ECHO", "x"}).text, "x");
    EXPECT_EQ(client.ask({"UNSUBSCRIBE"}).items.at(1).type, Value::Type::null);
}

TEST(RespEvents, stop_after_unsubscribing) {
    TestRespDoor door;
    auto client = door.connect();
    client.ask({"HELLO", "3"});
    client.ask({"SUBSCRIBE", "lease:granted"});
    client.ask({"PSUBSCRIBE", "lease:gr*"});
    client.ask({"UNSUBSCRIBE", "lease:granted"});
    client.ask({"PUNSUBSCRIBE", "lease:gr*"});
    take(client, "a", "bob");
    EXPECT_EQ(client.ask({"PING"}).text, "PONG");
}

TEST(RespEvents, close_a_subscriber_that_does_not_read_and_hold_nobody_up) {
    TestRespDoor door;
    auto deaf = door.connect(4096);
    deaf.ask({"SUBSCRIBE", "lease:granted"});
    auto client = door.connect();
    const std::string name(4000, 'n');
    for (int i = 0; i < 4000; ++i)
        ASSERT_FALSE(client.ask({"LEASE.ACQUIRE", name + std::to_string(i), "bob", "60000"}).is_error());
    int received = 0;
    while (!deaf.ends()) {
        deaf.read();
        ++received;
    }
    EXPECT_LT(received, 4000);
}

TEST(RespEvents, have_a_limit_on_what_one_connection_subscribes_to) {
    TestRespDoor door;
    auto client = door.connect();
    for (int i = 0; i < 1000; ++i)
        ASSERT_FALSE(client.ask({"SUBSCRIBE", "c" + std::to_string(i)}).is_error());
    EXPECT_TRUE(client.ask({"SUBSCRIBE", "one-more"}).is_error());
    EXPECT_TRUE(client.ask({"PSUBSCRIBE", std::string(300, 'x')}).is_error());
}

}  // namespace
}  // namespace holdfast::doors::resp
