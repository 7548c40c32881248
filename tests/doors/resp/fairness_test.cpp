#include <algorithm>
#include <string>
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

/// The words of a command about many keys or leases.
std::vector<std::string> words_of(std::vector<std::string> words, int count, const std::string& after_each = {}) {
    for (int i = 0; i < count; ++i) {
        words.push_back("key" + std::to_string(i));
        if (!after_each.empty()) words.push_back(after_each);
    }
    return words;
}

std::string bytes_of(const std::vector<std::string>& words) {
    std::string bytes;
    codec::resp::write_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
    return bytes;
}

TEST(RespFairness, runs_a_command_on_many_keys_in_steps) {
    std::vector<std::string> ended;
    TestRespDoor door;
    auto client = door.connect();
    fill(client);
    auto heavy = door.connect();
    door.run([&] {
        door.authority().events().subscribe([&](const authority::Event& event) { ended.push_back(event.resource); });
    });
    door.run([&] {  // so that both come in one turn
        heavy.send(bytes_of(words_of({"DEL"}, 9000)));
        client.command({"DEL", "key19999"});
    });
    EXPECT_EQ(client.read().number, 1);
    EXPECT_EQ(heavy.read().number, 9000);
    ASSERT_EQ(ended.size(), 9001U);
    EXPECT_LT(std::find(ended.begin(), ended.end(), "@redis/key19999") - ended.begin(), 4500);
}

TEST(RespFairness, answers_each_of_many_leases_in_order_though_it_handles_them_in_steps) {  // R1
    TestRespDoor door;
    auto client = door.connect();
    client.ask({"HELLO", "3"});
    const int count = 999;
    std::vector<std::string> renew{"LEASE.RENEW", "key0", "1", "bob", "60000", "ALSO"};
    for (int i = 0; i < count; ++i) {
        const auto granted = client.ask({"LEASE.ACQUIRE", "key" + std::to_string(i), "bob", "30000"});
        renew.push_back(field(granted, "resource").text);
        renew.push_back(i % 2 == 0 ? std::to_string(field(granted, "token").number) : "no number");
    }
    client.send(bytes_of(renew) + bytes_of({"ECHO", "next"}) + bytes_of({"LEASE.VERIFY", "HOLDER", "bob"}) +
                bytes_of(words_of({"LEASE.VERIFY"}, 1000, "1")));
    const auto renewed = client.read();
    ASSERT_EQ(renewed.items.size(), 1000U);
    EXPECT_EQ(code_of(renewed.items[0]), "UNKNOWN_LEASE");
    for (int i = 0; i < count; ++i) {
        const auto& one = renewed.items[static_cast<std::size_t>(i) + 1];
        if (i % 2 == 0)
            ASSERT_EQ(field(one, "resource").text, "key" + std::to_string(i));
        else
            ASSERT_EQ(code_of(one), "INVALID_ARGUMENT");
    }
    EXPECT_EQ(client.read().text, "next");
    EXPECT_EQ(client.read().items.size(), std::size_t{count});
    const auto verified = client.read();
    ASSERT_EQ(verified.items.size(), 1000U);
    for (std::size_t i = 0; i < verified.items.size(); ++i)
        ASSERT_EQ(field(verified.items[i], "resource").text, "key" + std::to_string(i));
}

TEST(RespFairness, leaves_the_rest_of_a_command_on_many_keys_when_its_client_has_gone) {
    int deleted = 0;
    TestRespDoor door;
    auto client = door.connect();
    fill(client);
    auto gone = door.connect();
    door.run([&] { door.authority().events().subscribe([&](const authority::Event&) { ++deleted; }); });
    gone.send(bytes_of({"PING"}) + bytes_of(words_of({"DEL"}, 9000)) + times(3, bytes_of(words_of({"EXISTS"}, 9000))) +
              set_command("done"));
    door.wait_until([&] {
        if (deleted > 0) gone.close();  // with an unread reply, so that the connection is reset
        return deleted > 0;
    });
    const auto left = client.ask(words_of({"EXISTS"}, 9000)).number;
    EXPECT_EQ(client.ask({"EXISTS", "done"}).number, 0);
    EXPECT_EQ(deleted + left, 9000) << "what was done stays done";
}

}  // namespace
}  // namespace holdfast::doors::resp
