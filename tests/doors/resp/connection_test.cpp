#include <atomic>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "codec/resp/resp_command.h"
#include "doors/resp/resp_fixture.h"

namespace holdfast::doors::resp {
namespace {

using codec::resp::Value;

TEST(RespConnection, answers_a_command_that_comes_byte_by_byte) {
    TestRespDoor door;
    auto client = door.connect();
    std::string bytes;
    codec::resp::write_command(bytes, {"ECHO", "hello"});
    for (const char byte : bytes)
        client.send({&byte, 1});
    EXPECT_EQ(client.read().text, "hello");
}

TEST(RespConnection, is_answered_before_anything_can_be_asked_of_the_store) {
    const Error away{Code::store_unavailable, "the engine is away"};
    const Error* not_yet = &away;
    TestRespDoor door({.address = "127.0.0.1:0", .version = "test", .not_yet = [&] { return not_yet; }});
    auto client = door.connect();
    std::string bytes;  // together, so that the store would be told of the keys before their turn
    codec::resp::write_command(bytes, {"SET", "k", "v", "NX", "PX", "60000"});
    codec::resp::write_command(bytes, {"SET", "l", "v", "NX", "PX", "60000"});
    codec::resp::write_command(bytes, {"LEASE.ACQUIRE", "r", "alice", "60000"});
    codec::resp::write_command(bytes, {"SUBSCRIBE", "lease:*"});
    client.send(bytes);
    for (int i = 0; i < 4; ++i) {
        const Value refused = client.read();
        EXPECT_EQ(code_of(refused), "STORE_UNAVAILABLE") << i;
        EXPECT_NE(refused.text.find("the engine is away; retry_in_ms="), std::string::npos) << refused.text;
    }
    EXPECT_EQ(client.ask({"PING"}).text, "PONG");
    door.run([&] { not_yet = nullptr; });
    take(client, "r", "alice");
}

TEST(RespConnection, answers_a_pipeline_of_thousands_in_order) {
    TestRespDoor door;
    auto client = door.connect();
    constexpr int count = 20'000;
    std::string bytes;
    for (int i = 0; i < count; ++i)
        codec::resp::write_command(bytes, {"ECHO", std::to_string(i)});
    client.send(bytes);
    for (int i = 0; i < count; ++i)
        ASSERT_EQ(client.read().text, std::to_string(i));
}

TEST(RespConnection, reads_the_clock_far_less_often_than_it_answers) {
    TestRespDoor door;
    auto client = door.connect();
    std::string bytes;
    for (int i = 0; i < 5000; ++i)
        codec::resp::write_command(bytes, {"PING"});
    const auto before = door.turns();
    client.send(bytes);
    for (int i = 0; i < 5000; ++i)
        client.read();
    EXPECT_LT(door.turns() - before, 1000U);
}

TEST(RespConnection, answers_inline_commands) {
    TestRespDoor door;
    auto client = door.connect();
    client.send("\r\nPING\r\nECHO \"a b\"\r\n");
    EXPECT_EQ(client.read().text, "PONG");
    EXPECT_EQ(client.read().text, "a b");
}

TEST(RespConnection, answers_all_that_came_before_the_client_ended_sending) {
    TestRespDoor door;
    auto client = door.connect();
    std::string bytes;
    for (int i = 0; i < 5000; ++i)
        codec::resp::write_command(bytes, {"ECHO", std::to_string(i)});
    client.send(bytes);
    client.end_sending();
    for (int i = 0; i < 5000; ++i)
        ASSERT_EQ(client.read().text, std::to_string(i));
    EXPECT_TRUE(client.ends());
}

TEST(RespConnection, tells_what_is_wrong_with_a_malformed_stream_and_closes) {
    TestRespDoor door;
    for (const std::string bytes : {"*1\r\n:5\r\n", "*a\r\n", "*1\r\n$x\r\n", "*99999999\r\n", "ECHO \"open\r\n"}) {
        auto client = door.connect();
        client.send(bytes);
        const Value reply = client.read();
        EXPECT_TRUE(reply.is_error());
        EXPECT_TRUE(reply.text.starts_with("ERR Protocol error: ")) << reply.text;
        EXPECT_TRUE(client.ends());
    }
}

TEST(RespConnection, takes_a_word_of_half_a_mebibyte_and_refuses_one_that_is_too_long) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string huge(512 * 1024, 'x');
    EXPECT_EQ(client.ask({"ECHO", huge}).text, huge);
    EXPECT_EQ(client.ask({"PING"}).text, "PONG");
    client.try_send("*2\r\n$4\r\nECHO\r\n$99999999\r\n");
    EXPECT_TRUE(client.read().text.starts_with("ERR Protocol error: "));
}

TEST(RespConnection, reads_no_more_from_a_client_that_does_not_read_and_goes_on_when_it_does) {
    TestRespDoor door;
    auto slow = door.connect(4096);
    auto other = door.connect();
    const std::string text(16 * 1024, 'y');
    std::string bytes;
    constexpr int count = 2000;
    for (int i = 0; i < count; ++i)
        codec::resp::write_command(bytes, {"ECHO", text});
    std::thread sender([&] { slow.send(bytes); });
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(other.ask({"PING"}).text, "PONG");  // nobody else waits for it
    for (int i = 0; i < count; ++i)
        ASSERT_EQ(slow.read().text.size(), text.size());
    sender.join();
}

TEST(RespConnection, that_fills_the_memory_for_buffers_is_closed_and_no_other) {
    TestRespDoor door(
        {.address = "127.0.0.1:0", .max_buffer_bytes = 1536 * 1024, .read_timeout = 1s, .version = "test"});
    RespTestClient small = door.connect();
    EXPECT_EQ(small.ask({"PING"}).text, "PONG");
    std::vector<RespTestClient> large;
    for (int i = 0; i < 3; ++i) {
        large.push_back(door.connect());
        large.back().try_send("*2\r\n$4\r\nECHO\r\n$900000\r\n" + std::string(800'000, 'x'));
    }
    int closed = 0;  // the third is told after a second that its command has not arrived
    for (RespTestClient& client : large)
        closed += client.ends() ? 1 : 0;
    EXPECT_EQ(closed, 2);
    EXPECT_EQ(small.ask({"PING"}).text, "PONG");
}

TEST(RespConnection, keeps_no_more_answers_behind_a_wait_than_it_would_unread) {
    TestRespDoor door;
    RespTestClient holder = door.connect();
    take(holder, "r", "alice");
    RespTestClient client = door.connect();
    client.command({"LEASE.ACQUIRE", "r", "bob", "60000", "WAIT", "120000"});
    door.wait_for_waiters(1);
    const std::string echo = "*2\r\n$4\r\nECHO\r\n$500000\r\n" + std::string(500'000, 'x') + "\r\n";
    std::atomic<bool> taken = false;
    std::thread sender([&] {
        for (int i = 0; i < 40; ++i)
            client.try_send(echo);
        taken = true;
    });
    for (int i = 0; i < 20'000 && !taken; ++i)
        ASSERT_EQ(holder.ask({"PING"}).text, "PONG");
    EXPECT_FALSE(taken) << "all of it was read and answered";
    door.advance(61s);
    EXPECT_EQ(code_of(client.read()), "");
    for (int i = 0; i < 40; ++i)
        ASSERT_EQ(client.read().text.size(), 500'000U);
    sender.join();
}

TEST(RespConnection, closes_after_QUIT_and_keeps_nothing_that_came_behind) {
    TestRespDoor door;
    auto client = door.connect();
    client.send("QUIT\r\nLEASE.ACQUIRE a bob 60000\r\n");
    EXPECT_EQ(client.read().text, "OK");
    EXPECT_TRUE(client.ends());
    door.run([&] { EXPECT_EQ(door.authority().active_leases(), 0U); });
}

TEST(RespConnection, does_nothing_of_what_a_web_page_posts) {
    TestRespDoor door;
    for (const std::string opening : {"POST / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n"}) {
        auto client = door.connect();
        client.try_send(opening + "\r\nSET k v PX 60000\r\nLEASE.ACQUIRE a bob 60000\r\n");
        while (!client.ends())
            EXPECT_TRUE(client.read().is_error());
    }
    door.run([&] { EXPECT_EQ(door.authority().active_leases(), 0U); });
}

TEST(RespConnection, refuses_a_connection_over_the_limit_and_takes_one_when_there_is_room) {
    TestRespDoor door({.address = "127.0.0.1:0", .max_connections = 2, .version = "test"});
    auto first = door.connect();
    auto second = door.connect();
    EXPECT_EQ(first.ask({"PING"}).text, "PONG");
    EXPECT_EQ(second.ask({"PING"}).text, "PONG");
    auto third = door.connect();
    EXPECT_EQ(third.read().text, "ERR max number of clients reached");
    EXPECT_TRUE(third.ends());
    third.close();
    first.close();
    while (true) {
        auto again = door.connect();
        again.try_send("PING\r\n");
        if (again.read().text == "PONG") break;
    }
}

TEST(RespConnection, closes_one_whose_command_does_not_arrive_in_time_but_none_between_commands) {
    TestRespDoor door({.address = "127.0.0.1:0", .read_timeout = 100ms, .version = "test"});
    auto between = door.connect();
    EXPECT_EQ(between.ask({"PING"}).text, "PONG");
    for (const std::string half :
         {"*1\r\n", "*2\r\n$4\r\nECHO\r\n$100000\r\nabc", "PIN", "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\n"}) {
        auto client = door.connect();
        client.send(half);
        Value reply = client.read();
        if (half.find("PING") != std::string::npos) reply = client.read();
        EXPECT_EQ(reply.text, "ERR Protocol error: the command did not arrive in time") << half;
        EXPECT_TRUE(client.ends());
    }
    EXPECT_EQ(between.ask({"PING"}).text, "PONG");
}

TEST(RespConnection, ends_a_wait_behind_which_a_command_does_not_arrive_in_time) {
    TestRespDoor door({.address = "127.0.0.1:0", .read_timeout = 100ms, .version = "test"});
    auto holder = door.connect();
    take(holder, "r", "bob");
    auto client = door.connect();
    client.command({"LEASE.ACQUIRE", "r", "alice", "60000", "WAIT", "60000"});
    door.wait_for_waiters(1);
    client.send("*1\r\n");
    EXPECT_TRUE(client.ends());
    door.wait_for_waiters(0);
}

/// Lets the process have so many more files, for as long as this lives.
class FewFiles {
 public:
    explicit FewFiles(rlim_t more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::dup(0);
        ::close(next);
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(next) + more;
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    FewFiles(const FewFiles&) = delete;
    FewFiles& operator=(const FewFiles&) = delete;

 private:
    rlimit before_{};
};

TEST(RespConnection, leaves_some_files_to_others) {
    TestRespDoor door;
    const FewFiles few(240);
    std::vector<RespTestClient> clients;
    std::string told = "PONG";
    while (told == "PONG" && clients.size() < 240) {
        clients.push_back(door.connect());
        clients.back().send("PING\r\n");  // the door does not wait for it to refuse
        told = clients.back().read().text;
    }
    EXPECT_EQ(told, "ERR max number of clients reached");
    std::vector<int> free;
    for (int file = ::dup(0); file >= 0; file = ::dup(0))
        free.push_back(file);
    EXPECT_GE(free.size(), 50U);  // of the 160, in proportion to the limit
    for (const int file : free)
        ::close(file);
}

TEST(RespConnection, closes_an_idle_connection_if_told_to_but_no_subscriber) {
    TestRespDoor door({.address = "127.0.0.1:0", .idle_timeout = 100ms, .version = "test"});
    auto subscriber = door.connect();
    EXPECT_EQ(subscriber.ask({"SUBSCRIBE", "lease:granted"}).items.size(), 3U);
    auto idle = door.connect();
    EXPECT_EQ(idle.ask({"PING"}).text, "PONG");
    EXPECT_TRUE(idle.ends());
    EXPECT_EQ(subscriber.ask({"PING"}).items.size(), 2U);
}

TEST(RespConnection, ends_cleanly_when_the_door_stops) {
    TestRespDoor door;
    auto client = door.connect();
    auto waiter = door.connect();
    take(client, "a", "bob");
    waiter.command({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "60000"});
    door.wait_for_waiters(1);
    door.stop();
    EXPECT_EQ(code_of(waiter.read()), "STOPPING");
    EXPECT_TRUE(waiter.ends());
    EXPECT_TRUE(client.ends());
}

}  // namespace
}  // namespace holdfast::doors::resp
