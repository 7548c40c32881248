#include "net/peer_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace holdfast::net {
namespace {

/// Both ends of a TCP connection of this machine.
class PeerWatch : public ::testing::Test {
 protected:
    PeerWatch() {
        const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(listener, 1), 0);
        EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
        client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
        server = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        EXPECT_GE(server, 0);
        ::close(listener);
    }
    ~PeerWatch() override {
        if (client >= 0) ::close(client);
        ::close(server);
    }
    /// Until the end of the other side has arrived.
    bool ended() const {
        pollfd look{server, POLLRDHUP, 0};
        return ::poll(&look, 1, 60'000) == 1;
    }
    int option(int name) const {
        int value = 0;
        socklen_t size = sizeof value;
        EXPECT_EQ(::getsockopt(server, IPPROTO_TCP, name, &value, &size), 0);
        return value;
    }

    int client = -1;
    int server = -1;
};

TEST_F(PeerWatch, sees_a_peer_also_with_input_that_nobody_has_read) {
    EXPECT_TRUE(peer_is_there(server));
    ASSERT_EQ(::send(client, "x", 1, 0), 1);
    EXPECT_TRUE(peer_is_there(server));
}

TEST_F(PeerWatch, sees_the_end_of_a_peer_behind_input_that_nobody_has_read) {
    ASSERT_EQ(::send(client, "x", 1, 0), 1);
    ASSERT_EQ(::shutdown(client, SHUT_WR), 0);
    ASSERT_TRUE(ended());
    EXPECT_FALSE(peer_is_there(server));
}

TEST_F(PeerWatch, sees_a_connection_that_was_reset) {
    const linger at_once{1, 0};
    ASSERT_EQ(::setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    ::close(std::exchange(client, -1));
    ASSERT_TRUE(ended());
    EXPECT_FALSE(peer_is_there(server));
}

TEST_F(PeerWatch, probes_one_who_waits_every_second_and_others_rarely) {
    watch_peer(server, Watch::close);
    EXPECT_EQ(option(TCP_KEEPIDLE), 1);
    EXPECT_EQ(option(TCP_KEEPINTVL), 1);
    EXPECT_EQ(option(TCP_USER_TIMEOUT), 5000);
    watch_peer(server, Watch::usual);
    EXPECT_EQ(option(TCP_KEEPIDLE), 300);
    EXPECT_EQ(option(TCP_USER_TIMEOUT), 0);
}

}  // namespace
}  // namespace holdfast::net
