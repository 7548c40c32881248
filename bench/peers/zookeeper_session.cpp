#include "zookeeper_session.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <zookeeper/zookeeper.h>

namespace holdfast::bench {
namespace {

/// The library says at once that it wants to be asked again when a server refuses its connection.
constexpr std::chrono::milliseconds pause_without_connection{5};

/// Sessions are looked at by their state; the library wants to have somebody to tell.
void ignore_event(zhandle_t*, int, int, const char*, void*) {}

}  // namespace

std::string zookeeper_error(int code) {
    return zerror(code);
}

bool is_connection_loss(int code) {
    return code == ZCONNECTIONLOSS || code == ZOPERATIONTIMEOUT;
}

ZookeeperSession::ZookeeperSession(const std::vector<std::uint16_t>& ports, std::chrono::milliseconds timeout) {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));
    zoo_deterministic_conn_order(1);  // the first port is where this client is at home
    std::string servers;
    for (const std::uint16_t port : ports)
        servers += (servers.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    const int timeout_ms = static_cast<int>(timeout.count());
    handle_ = zookeeper_init(servers.c_str(), ignore_event, timeout_ms, nullptr, nullptr, 0);
    if (!handle_) throw std::runtime_error(std::string("zookeeper_init: ") + std::strerror(errno));
}

ZookeeperSession::~ZookeeperSession() {
    if (handle_) zookeeper_close(handle_);
}

zhandle_t* ZookeeperSession::handle() {
    changed_ = true;
    return handle_;
}

std::int64_t ZookeeperSession::id() const {
    return handle_ ? zoo_client_id(handle_)->client_id : 0;
}

std::chrono::milliseconds ZookeeperSession::timeout() const {
    return std::chrono::milliseconds(handle_ ? zoo_recv_timeout(handle_) : 0);
}

bool ZookeeperSession::connected() const {
    return handle_ && zoo_state(handle_) == ZOO_CONNECTED_STATE;
}

bool ZookeeperSession::over() const {
    return !handle_ || is_unrecoverable(handle_) != ZOK;
}

/// zookeeper_close() says goodbye only if there is a connection: the library is first made to see that there is none.
void ZookeeperSession::abandon() {
    if (!handle_) return;
    pollfd poll{};
    prepare(poll, Clock::now());
    if (fd_ >= 0) {
        ::shutdown(fd_, SHUT_RDWR);
        process(POLLIN);
    }
    zookeeper_close(handle_);
    handle_ = nullptr;
}

void ZookeeperSession::prepare(pollfd& poll, Clock::time_point now) {
    if (handle_ && (changed_ || now >= wake_at_)) {
        changed_ = false;
        int fd = -1;
        int interest = 0;
        timeval wait{};
        zookeeper_interest(handle_, &fd, &interest, &wait);
        fd_ = fd;
        interest_ = static_cast<short>(((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0) |
                                       ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0));
        const Clock::duration asked = std::chrono::seconds(wait.tv_sec) + std::chrono::microseconds(wait.tv_usec);
        wake_at_ = now + (fd < 0 ? std::max<Clock::duration>(asked, pause_without_connection) : asked);
    }
    poll = {.fd = handle_ ? fd_ : -1, .events = interest_, .revents = 0};
}

void ZookeeperSession::process(short events) {
    const bool readable = (events & (POLLIN | POLLHUP | POLLERR)) != 0;
    const int wanted = (readable ? ZOOKEEPER_READ : 0) | ((events & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0);
    changed_ = true;
    while (zookeeper_process(handle_, wanted) == ZOK && readable) {  // one message each, until nothing is left
    }
}

void ZookeeperLoop::forget_those_over() {
    std::erase_if(sessions_, [](const auto& session) { return session->over(); });
}

void ZookeeperLoop::serve(Clock::time_point until) {
    const auto now = Clock::now();
    Clock::time_point wake = until;
    polls_.resize(sessions_.size());
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        sessions_[i]->prepare(polls_[i], now);
        if (!sessions_[i]->over()) wake = std::min(wake, sessions_[i]->wake_at_);
    }
    const auto wait = std::chrono::nanoseconds(std::max(wake - now, Clock::duration::zero())).count();
    const timespec limit{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
    if (ppoll(polls_.data(), polls_.size(), &limit, nullptr) <= 0) return;
    for (std::size_t i = 0; i < polls_.size(); ++i)
        if (polls_[i].revents != 0 && sessions_[i]->handle_) sessions_[i]->process(polls_[i].revents);
}

}  // namespace holdfast::bench
