#include "discovery/relay/test_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/random.h"

namespace holdfast::discovery::relay {

TestSocket::TestSocket(int socket) : socket_(socket) {
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

TestSocket TestSocket::connect(int port, int receive_buffer) {
    TestSocket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer > 0) ::setsockopt(made.socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(made.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        ADD_FAILURE() << "cannot connect";
    return made;
}

TestSocket::~TestSocket() {
    close();
}

TestSocket::TestSocket(TestSocket&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

TestSocket& TestSocket::operator=(TestSocket&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
}

bool TestSocket::try_send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void TestSocket::send(std::string_view bytes) {
    if (!try_send(bytes)) ADD_FAILURE() << "the connection ended or took nothing";
}

void TestSocket::deliver(std::string_view bytes) {
    send(bytes);
    for (int unacknowledged = 1; unacknowledged > 0; std::this_thread::yield())
        if (::ioctl(socket_, SIOCOUTQ, &unacknowledged) != 0) return;
}

std::string TestSocket::receive(std::size_t bytes) {
    std::string got(bytes, '\0');
    std::size_t have = 0;
    while (have < bytes) {
        const ssize_t came = ::recv(socket_, got.data() + have, bytes - have, 0);
        if (came <= 0) break;
        have += static_cast<std::size_t>(came);
    }
    got.resize(have);
    return got;
}

std::string TestSocket::receive_all() {
    std::string got, room(1 << 16, '\0');
    while (true) {
        const ssize_t came = ::recv(socket_, room.data(), room.size(), 0);
        if (came < 0) ADD_FAILURE() << "no end came";
        if (came <= 0) return got;
        got.append(room.data(), static_cast<std::size_t>(came));
    }
}

std::size_t TestSocket::fill() {
    const std::string piece = noise(1 << 16, 9);
    std::size_t taken = 0;
    pollfd writable{.fd = socket_, .events = POLLOUT, .revents = 0};
    while (::poll(&writable, 1, 1000) > 0) {
        const ssize_t sent = ::send(socket_, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) taken += static_cast<std::size_t>(sent);
    }
    return taken;
}

void TestSocket::end_sending() {
    ::shutdown(socket_, SHUT_WR);
}

void TestSocket::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void TestSocket::reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
}

bool TestSocket::is_reset() {
    char room[65536];
    ssize_t came = 0;
    while ((came = ::recv(socket_, room, sizeof room, 0)) > 0) {
    }
    return came < 0 && errno == ECONNRESET;
}

bool TestSocket::is_ended() {
    char byte = 0;
    const ssize_t came = ::recv(socket_, &byte, 1, 0);
    return came == 0 || (came < 0 && errno != EAGAIN);
}

int TestSocket::release_without_blocking() {
    ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
    return std::exchange(socket_, -1);
}

std::pair<TestSocket, TestSocket> connected_pair() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    TestSocket first = TestSocket::connect(ntohs(address.sin_port));
    TestSocket second(::accept(listener, nullptr, nullptr));
    ::close(listener);
    return {std::move(first), std::move(second)};
}

std::string noise(std::size_t bytes, std::uint64_t seed) {
    Random random(seed);
    std::string made(bytes, '\0');
    for (char& byte : made)
        byte = static_cast<char>(random.next());
    return made;
}

void raise_open_files(std::size_t files) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(std::max<rlim_t>(limit.rlim_cur, files), limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace holdfast::discovery::relay
