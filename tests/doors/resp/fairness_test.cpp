#include <vector>

#include "codec/resp/resp_command.h"
#include "doors/resp/resp_fixture.h"

namespace holdfast::doors::resp {
namespace {

constexpr int keys = 20'000;

std::string set_command(const std::string& key) {
    return codec::resp::command_of({"SET", key, "v", "PX", "300000"});
}

void fill(RespTestClient& client) {
    std::string bytes;
    for (int i = 0; i < keys; ++i)
        bytes += set_command("key" + std::to_string(i));
    client.send(bytes);
    for (int i = 0; i < keys; ++i)
        ASSERT_EQ(client.read().text, "OK");
}

std::string times(int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += text;
    return all;
}

TEST(RespFairness, answers_a_client_while_others_wait_for_long_commands_one_after_the_other) {
    TestRespDoor door;
    auto client = door.connect();
    fill(client);
    const std::string search = times(1000, codec::resp::command_of({"KEYS", "*none"}));
    std::vector<RespTestClient> hostile;
    for (int i = 0; i < 4; ++i) {
        hostile.push_back(door.connect());
        hostile.back().send(search + set_command("done" + std::to_string(i)));
        EXPECT_TRUE(hostile.back().read().items.empty()) << "it is being served";
    }
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(client.ask({"PEXPIRE", "key0", "300000"}).number, 1);
    EXPECT_EQ(client.ask({"EXISTS", "done0", "done1", "done2", "done3"}).number, 0) << "nobody had to wait";
}

TEST(RespFairness, answers_a_client_while_others_send_pipelines_without_end) {
    TestRespDoor door;
    auto client = door.connect();
    fill(client);
    std::vector<std::string> many{"EXISTS"};
    for (int i = 0; i < 9999; ++i)
        many.push_back("key" + std::to_string(i));
    std::string one;
    codec::resp::write_command(one, std::vector<std::string_view>(many.begin(), many.end()));
    std::vector<RespTestClient> hostile;
    for (int i = 0; i < 4; ++i) {
        hostile.push_back(door.connect());
        hostile.back().send(one + one);
        EXPECT_EQ(hostile.back().read().number, 9999);
        EXPECT_EQ(client.ask({"PEXPIRE", "key0", "300000"}).number, 1);
    }
    for (auto& each : hostile)
        EXPECT_EQ(each.read().number, 9999);
}

TEST(RespFairness, keeps_the_order_of_replies_behind_a_command_that_takes_long) {
    TestRespDoor door;
    auto client = door.connect();
    fill(client);
    const std::string all = codec::resp::command_of({"KEYS", "*"});
    client.send(all + codec::resp::command_of({"ECHO", "between"}) + all + codec::resp::command_of({"ECHO", "last"}));
    client.end_sending();
    EXPECT_EQ(client.read().items.size(), static_cast<std::size_t>(keys));
    EXPECT_EQ(client.read().text, "between");
    EXPECT_EQ(client.read().items.size(), static_cast<std::size_t>(keys));
    EXPECT_EQ(client.read().text, "last");
    EXPECT_TRUE(client.ends());
}

TEST(RespFairness, forgets_a_command_that_takes_long_when_its_client_has_gone) {
    TestRespDoor door;
    auto client = door.connect();
    fill(client);
    const std::string search = times(1000, codec::resp::command_of({"KEYS", "*none"}));
    for (int i = 0; i < 4; ++i) {
        auto gone = door.connect();
        gone.send(search + set_command("done" + std::to_string(i)));
        EXPECT_TRUE(gone.read().items.empty());
        gone.close();  // with unread replies, so that the connection is reset
    }
    EXPECT_EQ(client.ask({"PING"}).text, "PONG");
    EXPECT_EQ(client.ask({"EXISTS", "done0", "done1", "done2", "done3"}).number, 0);
}

}  // namespace
}  // namespace holdfast::doors::resp
