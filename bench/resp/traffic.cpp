#include "traffic.h"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/tcp.h>
#include <numeric>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/resp/resp_value.h"

namespace holdfast::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
    throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

int connect_to(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket");
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

std::string shown(const codec::resp::Value& value) {
    std::string text = value.text.empty() && value.items.empty() ? std::to_string(value.number) : value.text;
    for (const codec::resp::Value& item : value.items)
        text += (text.empty() ? "" : " ") + shown(item);
    return text.substr(0, 200);
}

}  // namespace

struct Traffic::Connection {
    int fd = -1;
    std::string out;
    std::size_t sent = 0;
    std::string in;
    std::size_t used = 0;
    std::vector<std::uint32_t> asked;  // the locks of the batch under way
    std::size_t answered = 0;
    bool blocked = false;  // the other side does not read
    codec::resp::ValueReader reader;
};

Traffic::Traffic(std::uint16_t port, std::uint32_t connections, std::uint32_t locks, LockCommands& commands)
    : poll_fd_(epoll_create1(EPOLL_CLOEXEC)), locks_(locks), commands_(commands), connections_(connections) {
    if (poll_fd_ < 0) fail("epoll_create1");
    // Steps of the golden section visit every lock once and leave no two neighbours close in time.
    stride_ = static_cast<std::uint32_t>(0.618 * locks) | 1;
    while (std::gcd(stride_, locks) != 1)
        stride_ += 2;
    for (std::uint32_t i = 0; i < connections; ++i) {
        connections_[i].fd = connect_to(port);
        epoll_event event{.events = EPOLLIN, .data = {.u32 = i}};
        if (epoll_ctl(poll_fd_, EPOLL_CTL_ADD, connections_[i].fd, &event) != 0) fail("epoll_ctl");
    }
}

Traffic::~Traffic() {
    for (const Connection& connection : connections_)
        close(connection.fd);
    close(poll_fd_);
}

std::uint32_t Traffic::lock_at(std::uint32_t position) const {
    return static_cast<std::uint32_t>(std::uint64_t{position} * stride_ % locks_);
}

Outcome Traffic::run(const Stretch& stretch) {
    stretch_ = stretch;
    outcome_ = {};
    asked_ = 0;
    const auto start = SteadyClock::now();
    const auto give_up = start + std::chrono::seconds(stretch.max_seconds);
    for (Connection& connection : connections_)
        send_batch(connection);
    epoll_event events[64];
    while (outcome_.good + outcome_.other < stretch.requests && outcome_.trouble.empty()) {
        const int ready = epoll_wait(poll_fd_, events, std::size(events), 1000);
        for (int i = 0; i < ready; ++i) {
            Connection& connection = connections_[events[i].data.u32];
            if (connection.blocked) flush(connection);
            if (events[i].events & ~EPOLLOUT) receive(connection);
        }
        if (SteadyClock::now() > give_up) outcome_.trouble = "it took too long";
    }
    outcome_.seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
    return outcome_;
}

void Traffic::send_batch(Connection& connection) {
    connection.asked.clear();
    connection.answered = 0;
    connection.out.clear();
    connection.sent = 0;
    while (connection.asked.size() < stretch_.pipeline && asked_ < stretch_.requests) {
        const std::uint32_t lock = lock_at((stretch_.first + asked_++) % locks_);
        commands_.ask(connection.out, stretch_.operation, lock);
        connection.asked.push_back(lock);
    }
    if (!connection.out.empty()) flush(connection);
}

void Traffic::flush(Connection& connection) {
    const bool was_blocked = connection.blocked;
    while (connection.sent < connection.out.size()) {
        const ssize_t sent = send(connection.fd, connection.out.data() + connection.sent,
                                  connection.out.size() - connection.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) outcome_.trouble = std::string("send: ") + std::strerror(errno);
        if (sent < 0) break;
        connection.sent += static_cast<std::size_t>(sent);
    }
    connection.blocked = connection.sent < connection.out.size();
    if (connection.blocked == was_blocked) return;
    const std::uint32_t events = connection.blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
    epoll_event event{.events = events, .data = {.u32 = static_cast<std::uint32_t>(&connection - connections_.data())}};
    epoll_ctl(poll_fd_, EPOLL_CTL_MOD, connection.fd, &event);
}

void Traffic::receive(Connection& connection) {
    char buffer[32 << 10];
    const ssize_t got = recv(connection.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
        outcome_.trouble = got == 0 ? "the server closed a connection" : std::string("recv: ") + std::strerror(errno);
        return;
    }
    connection.in.append(buffer, static_cast<std::size_t>(got));
    while (connection.answered < connection.asked.size() &&
           take_reply(connection, std::string_view(connection.in).substr(connection.used))) {
    }
    if (connection.used == connection.in.size()) {
        connection.in.clear();
        connection.used = 0;
    }
    if (connection.answered == connection.asked.size()) send_batch(connection);
}

/// False if the reply is not all there.
bool Traffic::take_reply(Connection& connection, std::string_view input) {
    const std::string_view good = commands_.good_reply(stretch_.operation);
    if (!good.empty() && input.starts_with(good)) {
        connection.used += good.size();
        ++connection.answered;
        ++outcome_.good;
        return true;
    }
    const auto outcome = connection.reader.read(input);
    if (outcome == codec::resp::ValueReader::Outcome::malformed) outcome_.trouble = "a reply is malformed";
    if (outcome != codec::resp::ValueReader::Outcome::value) return false;
    const std::uint32_t lock = connection.asked[connection.answered++];
    connection.used += connection.reader.size();
    if (commands_.understand(stretch_.operation, lock, connection.reader.value())) {
        ++outcome_.good;
    } else {
        if (outcome_.other++ == 0) outcome_.first_other = shown(connection.reader.value());
    }
    return true;
}

}  // namespace holdfast::bench
