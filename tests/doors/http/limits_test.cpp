#include <csignal>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <optional>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

TEST(HttpLimits, keep_a_body_to_a_mebibyte) {
    TestDoor door;
    TestClient told = door.connect();
    told.try_send(request_text("POST", "/v1/leases", std::string(1024 * 1024 + 1, ' ')));
    const Answer answer = told.read();
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.code(), "body_too_large");
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_EQ(told.read_to_end(), "");
    TestClient chunked = door.connect();
    chunked.try_send("POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 17; ++i)
        chunked.try_send("10000\r\n" + std::string(0x10000, ' ') + "\r\n");
    EXPECT_EQ(chunked.read().code(), "body_too_large");
    TestClient within = door.connect();
    const std::string body = std::string(1024 * 1024 - 29, ' ') + R"({"holder":"a","resource":"r"})";
    EXPECT_EQ(within.ask("POST", "/v1/leases", body).status, 201);
}

TEST(HttpLimits, keep_a_header_to_16_kibibytes) {
    TestDoor door;
    for (const std::string& request :
         {"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n",
          "GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "GET /" + std::string(10'000, 'x') + " HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(10'000, 'x') +
              "\r\n\r\n",
          "GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(200'000, 'x')}) {
        TestClient client = door.connect();
        client.try_send(request);
        const Answer answer = client.read();
        EXPECT_EQ(answer.status, 431);
        EXPECT_EQ(answer.code(), "header_too_large");
        EXPECT_EQ(client.read_to_end(), "");
    }
    TestClient within = door.connect();
    within.send(request_text("GET", "/health", {}, "X: " + std::string(16'000, 'x') + "\r\n") + health_request());
    EXPECT_EQ(within.read().status, 200);
    EXPECT_EQ(within.read().status, 200);
}

TEST(HttpLimits, drop_a_client_that_sends_too_slowly) {
    DoorSetting setting;
    setting.options.read_timeout = 300ms;
    TestDoor door(setting);
    TestClient client = door.connect();
    const std::string request = request_text("GET", "/health", {}, "X: " + std::string(10'000, 'x') + "\r\n");
    std::size_t sent = 0;
    // Byte by byte until it is cut off; each wait is for the door's loop, which tells the time passed.
    while (sent < request.size() && client.try_send(request.substr(sent, 1))) {
        ++sent;
        door.run([] {});
        if (door.metrics_text().find("request_timeout") != std::string::npos) break;
    }
    EXPECT_LT(sent, request.size());
    const Answer answer = client.read();
    EXPECT_EQ(answer.status, 408);
    EXPECT_EQ(answer.code(), "request_timeout");
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpLimits, drop_a_client_that_sends_half_a_body) {
    DoorSetting setting;
    setting.options.read_timeout = 200ms;
    TestDoor door(setting);
    TestClient client = door.connect();
    client.send("POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"holder\"");
    EXPECT_EQ(client.read().status, 408);
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpLimits, close_a_connection_that_asks_nothing) {
    DoorSetting setting;
    setting.options.idle_timeout = 2s;
    TestDoor door(setting);
    TestClient silent = door.connect(), once = door.connect();
    EXPECT_EQ(once.ask("GET", "/health").status, 200);
    EXPECT_EQ(once.read_to_end(), "");
    EXPECT_EQ(silent.read_to_end(), "");
}

TEST(HttpLimits, let_a_request_wait_longer_than_an_idle_connection) {
    DoorSetting setting;
    setting.options.idle_timeout = setting.options.read_timeout = 2s;
    TestDoor door(setting);
    TestClient client = door.connect();
    client.send(acquire_request("bob", "r") + acquire_request("alice", "r", 120'000));
    EXPECT_EQ(client.read().status, 201);
    door.wait_for_waiters(1);
    TestClient idle = door.connect();
    EXPECT_EQ(idle.read_to_end(), "") << "meanwhile an idle one was closed";
    door.advance(61s);
    EXPECT_EQ(client.read().status, 201) << "bob's lease ran out before alice's wait did";
}

TEST(HttpLimits, drop_a_client_that_never_reads) {
    DoorSetting setting;
    setting.options.write_timeout = 200ms;
    TestDoor door(setting);
    TestClient filler = door.connect();
    const std::string metadata = R"(,"metadata":{"x":")" + std::string(8000, 'm') + R"("})";
    for (int i = 0; i < 1000; ++i)
        take(filler, "big" + std::to_string(i), "bob", metadata);
    TestClient client = door.connect(4096);
    for (int i = 0; i < 20; ++i)
        client.try_send(request_text("GET", "/v1/leases?limit=1000"));
    filler.close();
    std::string text;
    do {
        text = door.metrics_text();
    } while (text.find("holdfast_connections 1\n") == std::string::npos);
    EXPECT_FALSE(client.read_to_end().ends_with("null}")) << "it got everything";
}

TEST(HttpLimits, close_those_that_fill_most_of_the_memory_for_buffers) {
    DoorSetting setting;
    setting.options.max_buffer_bytes = 2 * 1024 * 1024;
    TestDoor door(std::move(setting));
    TestClient small = door.connect();
    EXPECT_EQ(small.ask("GET", "/health").status, 200);
    const std::string half =
        "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + std::string(900'000, ' ');
    std::vector<TestClient> large;
    for (int i = 0; i < 6; ++i) {
        large.push_back(door.connect());
        large.back().try_send(half);
    }
    std::string text;
    for (int i = 0; i < 100'000 && text.find("holdfast_connections 3\n") == std::string::npos; ++i)
        text = small.ask("GET", "/metrics").body;
    EXPECT_NE(text.find("holdfast_connections 3\n"), std::string::npos) << "two of them, and the small one, may stay";
}

TEST(HttpLimits, tell_a_connection_over_the_limit_so) {
    DoorSetting setting;
    setting.options.max_connections = 2;
    TestDoor door(setting);
    TestClient first = door.connect(), second = door.connect();
    EXPECT_EQ(first.ask("GET", "/health").status, 200);
    EXPECT_EQ(second.ask("GET", "/health").status, 200);
    {
        TestClient third = door.connect();
        third.try_send(request_text("GET", "/v1/leases"));
        const Answer answer = third.read();
        EXPECT_EQ(answer.status, 503);
        EXPECT_EQ(answer.code(), "too_many_connections");
        EXPECT_EQ(answer.headers.at("retry-after"), "1");
        EXPECT_EQ(third.read_to_end(), "");
    }
    EXPECT_EQ(first.ask("GET", "/health").status, 200) << "those who are in stay in";
    second.close();
    for (;;) {
        TestClient next = door.connect();
        next.try_send(request_text("GET", "/v1/leases"));
        if (next.read().status == 200) break;
    }
}

TEST(HttpLimits, leave_room_to_ask_how_the_server_is_when_it_is_full) {
    DoorSetting setting;
    setting.options.max_connections = 1;
    TestDoor door(setting);
    TestClient first = door.connect();
    EXPECT_EQ(first.ask("GET", "/health").status, 200);
    std::vector<TestClient> silent;  // over the limit, and more than are let in at one time
    for (int i = 0; i < 200; ++i)
        silent.push_back(door.connect());
    for (const char* path : {"/health", "/ready", "/metrics"}) {
        TestClient watcher = door.connect();
        watcher.send(request_text("GET", path));
        const Answer answer = watcher.read();
        EXPECT_EQ(answer.status, 200) << path;
        EXPECT_EQ(answer.headers.at("connection"), "close");
        EXPECT_EQ(watcher.read_to_end(), "");
    }
    TestClient other = door.connect();
    other.send(acquire_request("bob", "r"));
    EXPECT_EQ(other.read().code(), "too_many_connections");
    EXPECT_EQ(first.ask("GET", "/v1/leases").size("/leases"), 0U) << "nothing was granted to it";
    TestClient waits = door.connect();
    EXPECT_EQ(waits.read().code(), "too_many_connections") << "one that asks nothing is told so after a moment";
}

/// Leaves this process no file descriptor above those in use and `more`.
class FewFiles {
 public:
    explicit FewFiles(rlim_t more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int lowest_free = ::dup(0);
        ::close(lowest_free);
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(lowest_free) + more;
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
    rlimit before_{};
};

/// Connections that say nothing, from a process of their own, so that they take no files of this one.
class SilentFlood {
 public:
    SilentFlood(int port, int connections) {
        int done[2];
        EXPECT_EQ(::pipe(done), 0);
        child_ = ::fork();
        if (child_ == 0) connect_and_wait(port, connections, done[1]);
        ::close(done[1]);
        char made = 0;
        EXPECT_EQ(::read(done[0], &made, 1), 1) << "the flood did not get through";
        ::close(done[0]);
    }
    ~SilentFlood() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    SilentFlood(const SilentFlood&) = delete;
    SilentFlood& operator=(const SilentFlood&) = delete;

 private:
    [[noreturn]] static void connect_and_wait(int port, int connections, int done) {
        rlimit files{};
        ::getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
        sockaddr_in door{};
        door.sin_family = AF_INET;
        door.sin_port = htons(static_cast<std::uint16_t>(port));
        door.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (int i = 0; i < connections; ++i)
            if (::connect(::socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&door), sizeof door) != 0)
                ::_exit(1);
        if (::write(done, "", 1) == 1) ::pause();
        ::_exit(0);
    }

    pid_t child_ = -1;
};

TEST(HttpLimits, of_files_leave_room_to_ask_how_the_server_is) {
    TestDoor door;
    const FewFiles few(400);
    const SilentFlood flood(door.port(), 900);
    for (const char* path : {"/health", "/ready", "/metrics"}) {
        TestClient watcher = door.connect();
        watcher.send(request_text("GET", path));
        EXPECT_EQ(watcher.read().status, 200) << path;
    }
}

TEST(HttpLimits, of_the_system_delay_a_connection_but_break_nothing) {
    TestDoor door;
    TestClient before = door.connect();
    EXPECT_EQ(before.ask("GET", "/health").status, 200);
    std::optional<TestClient> client;
    {
        const FewFiles few(1);
        client.emplace(door.connect());
        client->send(health_request());
        for (int i = 0; i < 100; ++i)
            ASSERT_EQ(before.ask("GET", "/health").status, 200) << "others are served meanwhile";
        EXPECT_EQ(before.ask("GET", "/metrics").body.find("holdfast_connections 2"), std::string::npos);
    }
    EXPECT_EQ(client->read().status, 200);
}

}  // namespace
}  // namespace holdfast::doors::http
