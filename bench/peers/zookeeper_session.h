#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <string>
#include <vector>

struct _zhandle;  // zhandle_t of the library

namespace holdfast::bench {

/// A session with ZooKeeper by its own C client, the variety without threads: it goes on while a ZookeeperLoop serves
/// it, and then pings and connects again by itself. Nodes that are ephemeral live as long as their session, which the
/// server ends when it has not heard of it for the timeout.
class ZookeeperSession {
 public:
    using Clock = std::chrono::steady_clock;

    /// Begins to connect to one of the ports of loopback. The server may give another timeout than is asked for.
    ZookeeperSession(const std::vector<std::uint16_t>& ports, std::chrono::milliseconds timeout);
    /// Ends the session at the server, and its nodes with it, unless it was abandoned.
    ~ZookeeperSession();
    ZookeeperSession(const ZookeeperSession&) = delete;
    ZookeeperSession& operator=(const ZookeeperSession&) = delete;

    /// For the library's functions that send something.
    _zhandle* handle();
    std::int64_t id() const;
    std::chrono::milliseconds timeout() const;  ///< as the server gave it
    bool connected() const;
    bool over() const;  ///< for good: the server has ended it, or it was abandoned
    /// Closes the connection without a word, as a process does that dies. What is under way fails.
    void abandon();

 private:
    friend class ZookeeperLoop;
    void prepare(pollfd& poll, Clock::time_point now);
    void process(short events);

    _zhandle* handle_ = nullptr;
    bool changed_ = true;  ///< something was sent or came: ask the library what it waits for
    int fd_ = -1;
    short interest_ = 0;
    Clock::time_point wake_at_;
};

/// Serves sessions, all from one thread.
class ZookeeperLoop {
 public:
    using Clock = ZookeeperSession::Clock;
    void add(std::shared_ptr<ZookeeperSession> session) { sessions_.push_back(std::move(session)); }
    void forget_those_over();
    void clear() { sessions_.clear(); }
    const std::vector<std::shared_ptr<ZookeeperSession>>& sessions() const { return sessions_; }

    /// Waits until something comes for one of them, at most until then, and has their callbacks called.
    void serve(Clock::time_point until);

 private:
    std::vector<std::shared_ptr<ZookeeperSession>> sessions_;
    std::vector<pollfd> polls_;
};

/// What went wrong, in the library's words.
std::string zookeeper_error(int code);
/// The answer did not come because the connection was lost: it may be asked again.
bool is_connection_loss(int code);

}  // namespace holdfast::bench
