#include "codec/resp/resp_command.h"
#include "doors/resp/resp_fixture.h"

namespace holdfast::doors::resp {
namespace {

using codec::resp::Value;

TEST(RespTransactions, execute_nothing_and_end_with_an_error) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_EQ(client.ask({"MULTI"}).text, "OK");
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"SET", "k", "me", "NX", "PX", "60000"},
                                               {"SADD", "s", "me"},
                                               {"LEASE.ACQUIRE", "r", "me", "60000"},
                                               {"EVAL", "return redis.call('get', KEYS[1])", "1", "k"},
                                               {"SUBSCRIBE", "lease:granted"},
                                               {"SELECT", "3"},
                                               {"UNWATCH"},
                                               {"PING"}}) {
        const Value queued = client.ask(words);
        EXPECT_EQ(code_of(queued), "ERR") << words[0];
        EXPECT_NE(queued.text.find("was not executed"), std::string::npos) << queued.text;
    }
    EXPECT_EQ(code_of(client.ask({"NONSENSE"})), "ERR");
    EXPECT_EQ(code_of(client.ask({"SET"})), "ERR");
    EXPECT_EQ(code_of(client.ask({"EXEC"})), "EXECABORT");
    EXPECT_EQ(client.ask({"DBSIZE"}).number, 0);
    EXPECT_EQ(client.ask({"SET", "k", "me", "NX", "PX", "60000"}).text, "OK") << "the transaction is over";
}

TEST(RespTransactions, keep_what_was_held_before_them) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_EQ(client.ask({"SET", "k", "me", "NX", "PX", "60000"}).text, "OK");
    std::string bytes;
    for (const auto& words : {std::vector<std::string_view>{"MULTI"}, {"DEL", "k"}, {"PEXPIRE", "k", "0"}, {"EXEC"}})
        codec::resp::write_command(bytes, words);
    client.send(bytes);
    EXPECT_EQ(client.read().text, "OK");
    EXPECT_EQ(code_of(client.read()), "ERR");
    EXPECT_EQ(code_of(client.read()), "ERR");
    EXPECT_EQ(code_of(client.read()), "EXECABORT");
    EXPECT_EQ(client.ask({"GET", "k"}).text, "me");
}

TEST(RespTransactions, behind_a_command_that_waits_execute_nothing_either) {
    TestRespDoor door;
    auto holder = door.connect();
    const std::int64_t token = take(holder, "r", "bob");
    auto client = door.connect();
    std::string bytes;
    for (const auto& words : {std::vector<std::string_view>{"LEASE.ACQUIRE", "r", "alice", "60000", "WAIT", "60000"},
                              {"MULTI"},
                              {"SET", "k", "me", "NX", "PX", "60000"},
                              {"EXEC"}})
        codec::resp::write_command(bytes, words);
    client.send(bytes);
    door.wait_for_waiters(1);
    holder.ask({"LEASE.RELEASE", "r", std::to_string(token), "bob"});
    EXPECT_EQ(code_of(client.read()), "");
    EXPECT_EQ(client.read().text, "OK");
    EXPECT_EQ(code_of(client.read()), "ERR");
    EXPECT_EQ(code_of(client.read()), "EXECABORT");
    EXPECT_EQ(client.ask({"EXISTS", "k"}).number, 0);
}

TEST(RespTransactions, are_left_by_DISCARD_and_RESET) {
    TestRespDoor door;
    auto client = door.connect();
    for (const std::string_view way_out : {"DISCARD", "RESET"}) {
        EXPECT_EQ(client.ask({"MULTI"}).text, "OK");
        EXPECT_EQ(code_of(client.ask({"PING"})), "ERR");
        EXPECT_EQ(code_of(client.ask({way_out})), "") << way_out;
        EXPECT_EQ(client.ask({"PING"}).text, "PONG") << way_out;
    }
    EXPECT_EQ(client.ask({"MULTI"}).text, "OK");
    EXPECT_EQ(client.ask({"QUIT"}).text, "OK");
    EXPECT_TRUE(client.ends());
}

TEST(RespTransactions, misused_get_the_words_of_Redis) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_EQ(client.ask({"EXEC"}).text, "ERR EXEC without MULTI");
    EXPECT_EQ(client.ask({"DISCARD"}).text, "ERR DISCARD without MULTI");
    EXPECT_EQ(client.ask({"UNWATCH"}).text, "OK");
    EXPECT_EQ(code_of(client.ask({"WATCH", "k"})), "ERR");
    EXPECT_EQ(client.ask({"MULTI"}).text, "OK");
    EXPECT_EQ(client.ask({"MULTI"}).text, "ERR MULTI calls can not be nested");
    EXPECT_EQ(client.ask({"WATCH", "k"}).text, "ERR WATCH inside MULTI is not allowed");
    EXPECT_EQ(code_of(client.ask({"EXEC"})), "EXECABORT");
}

}  // namespace
}  // namespace holdfast::doors::resp
