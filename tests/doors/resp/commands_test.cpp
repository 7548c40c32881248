#include "doors/resp/resp_fixture.h"

namespace holdfast::doors::resp {
namespace {

using codec::resp::Value;

TEST(RespCommands, choose_the_version_of_the_protocol) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_EQ(client.ask({"HELLO"}).type, Value::Type::array);
    const Value hello = client.ask({"hello", "3", "AUTH", "default", "any", "SETNAME", "me"});
    EXPECT_EQ(hello.type, Value::Type::map);
    EXPECT_EQ(field(hello, "proto").number, 3);
    EXPECT_EQ(field(hello, "version").text, "7.0.15");
    EXPECT_EQ(client.ask({"CLIENT", "GETNAME"}).text, "me");
    EXPECT_EQ(code_of(client.ask({"HELLO", "4"})), "NOPROTO");
    EXPECT_EQ(code_of(client.ask({"HELLO", "3", "AUTH", "eve", "x"})), "WRONGPASS");
    EXPECT_EQ(code_of(client.ask({"HELLO", "3", "WHAT"})), "ERR");
    EXPECT_EQ(client.ask({"RESET"}).text, "RESET");
    EXPECT_EQ(client.ask({"CONFIG", "GET", "save"}).type, Value::Type::array);
}

TEST(RespCommands, say_as_Redis_does_that_there_is_no_password) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_TRUE(client.ask({"AUTH", "secret"}).text.starts_with("ERR AUTH <password> called without any password"));
    EXPECT_EQ(client.ask({"AUTH", "default", "secret"}).text, "OK");
    EXPECT_EQ(code_of(client.ask({"AUTH", "eve", "secret"})), "WRONGPASS");
}

TEST(RespCommands, that_are_unknown_or_misused_get_the_words_of_Redis) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_EQ(client.ask({"FOO", "a", "b"}).text, "ERR unknown command 'FOO', with args beginning with: 'a' 'b' ");
    EXPECT_EQ(client.ask({"echo"}).text, "ERR wrong number of arguments for 'echo' command");
    EXPECT_EQ(client.ask({"PING", "a", "b"}).text, "ERR wrong number of arguments for 'ping' command");
    EXPECT_EQ(client.ask({"CLIENT", "WHAT"}).text, "ERR unknown subcommand 'WHAT'. Try CLIENT HELP.");
    EXPECT_EQ(client.ask({"CLIENT", "SETNAME"}).text, "ERR wrong number of arguments for 'client|setname' command");
    EXPECT_EQ(client.ask({"SELECT", "99"}).text, "ERR DB index is out of range");
    EXPECT_EQ(client.ask({"SELECT", "x"}).text, "ERR value is not an integer or out of range");
    EXPECT_EQ(client.ask({""}).text, "ERR unknown command '', with args beginning with: ");
}

TEST(RespCommands, keep_what_a_client_says_of_itself) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_EQ(client.ask({"CLIENT", "GETNAME"}).type, Value::Type::null);
    EXPECT_EQ(client.ask({"CLIENT", "SETNAME", "worker-1"}).text, "OK");
    EXPECT_EQ(client.ask({"CLIENT", "SETNAME", "a b"}).text,
              "ERR Client names cannot contain spaces, newlines or special characters.");
    EXPECT_EQ(client.ask({"CLIENT", "SETINFO", "LIB-NAME", "mylib"}).text, "OK");
    const std::string line = client.ask({"CLIENT", "LIST"}).text;
    EXPECT_NE(line.find("name=worker-1 "), std::string::npos);
    EXPECT_NE(line.find("lib-name=mylib "), std::string::npos);
    EXPECT_EQ(client.ask({"CLIENT", "NO-EVICT", "on"}).text, "OK");
    EXPECT_EQ(client.ask({"CLIENT", "ID"}).number, 1);
}

TEST(RespCommands, tell_what_client_libraries_look_at) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string info = client.ask({"INFO"}).text;
    EXPECT_NE(info.find("redis_version:7.0.15\r\n"), std::string::npos);
    EXPECT_NE(info.find("holdfast_version:test\r\n"), std::string::npos);
    EXPECT_NE(info.find("loading:0\r\n"), std::string::npos);
    EXPECT_EQ(client.ask({"INFO", "replication"}).text, "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n");
    EXPECT_EQ(field(client.ask({"CONFIG", "GET", "maxm*"}), "maxmemory").text, "0");
    EXPECT_EQ(code_of(client.ask({"CONFIG", "SET", "save", ""})), "ERR");
    EXPECT_EQ(client.ask({"TIME"}).items.size(), 2U);
    take(client, "a", "bob");
    EXPECT_EQ(client.ask({"DBSIZE"}).number, 1);
}

TEST(RespCommands, are_listed_from_the_table_that_answers_them) {
    TestRespDoor door;
    auto client = door.connect();
    const auto count = static_cast<std::size_t>(client.ask({"COMMAND", "COUNT"}).number);
    EXPECT_EQ(client.ask({"COMMAND"}).items.size(), count);
    EXPECT_EQ(client.ask({"COMMAND", "DOCS"}).items.size(), 2 * count);
    const Value info = client.ask({"COMMAND", "INFO", "lease.renew", "nothing"});
    EXPECT_EQ(info.items.at(0).items.at(0).text, "lease.renew");
    EXPECT_EQ(info.items.at(0).items.at(1).number, -4);
    EXPECT_EQ(info.items.at(1).type, Value::Type::null);
}

}  // namespace
}  // namespace holdfast::doors::resp
