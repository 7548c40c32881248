#include "resp_link.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::bench {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

RespLink::RespLink(std::uint16_t port, Moment until) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) fail("socket");
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int error = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        error = ETIMEDOUT;
        socklen_t size = sizeof error;
        if (wait(POLLOUT, until)) getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) return;
    close(fd_);
    errno = error;
    fail("connect to port " + std::to_string(port));
}

RespLink::~RespLink() {
    close(fd_);
}

void RespLink::send(std::string_view commands, Moment until) {
    while (!commands.empty()) {
        const ssize_t sent = ::send(fd_, commands.data(), commands.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            commands.remove_prefix(static_cast<std::size_t>(sent));
            continue;
        }
        if (errno != EAGAIN) fail("send");
        if (!wait(POLLIN | POLLOUT, until)) throw std::runtime_error("the server does not read what it is sent");
        read_some();
    }
}

std::optional<codec::resp::Value> RespLink::receive(Moment until) {
    while (true) {
        const auto outcome = reader_.read(std::string_view(in_).substr(used_));
        if (outcome == codec::resp::ValueReader::Outcome::malformed) throw std::runtime_error("an answer is malformed");
        if (outcome == codec::resp::ValueReader::Outcome::value) {
            used_ += reader_.size();
            return std::move(reader_.value());
        }
        in_.erase(0, used_);
        used_ = 0;
        if (!wait(POLLIN, until)) return std::nullopt;
        read_some();
    }
}

bool RespLink::is_closed() {
    char byte;
    const ssize_t got = recv(fd_, &byte, 1, MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

bool RespLink::wait(short events, Moment until) {
    while (true) {
        const auto left = std::chrono::ceil<Milliseconds>(until - SteadyClock::now()).count();
        pollfd polled{.fd = fd_, .events = events, .revents = 0};
        const int ready = poll(&polled, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
        if (ready < 0 && errno != EINTR) fail("poll");
        if (ready > 0) return true;
        if (left <= 0) return false;
    }
}

void RespLink::read_some() {
    char buffer[64 << 10];
    const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
    if (got == 0) throw std::runtime_error("the server closed the connection");
    if (got > 0) in_.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EAGAIN) fail("receive");
}

}  // namespace holdfast::bench
