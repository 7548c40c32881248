#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>

namespace boost::asio {
class io_context;
}

namespace holdfast::net {

/// The ready sockets of one door. The door has an epoll set of its own, which the loop watches as one fd. All
/// connections that are ready in a turn share the loop's cost per turn, and a socket is not read a second time only to
/// get EAGAIN after a short read.
class Poller {
 public:
    explicit Poller(boost::asio::io_context& loop);
    ~Poller();

    struct Interest {
        bool input = true;
        bool output = false;

        bool operator==(const Interest&) const = default;
    };
    struct Ready {
        void* who = nullptr;
        bool input = false;
        bool output = false;
        bool broken = false;  ///< nothing can be sent any more; `input` is set too
    };

    /// Returns false if the kernel refused.
    [[nodiscard]] bool add(int socket, void* who);
    void change(int socket, void* who, Interest interest);
    void remove(int socket);

    /// Calls `on_ready` on the loop whenever sockets are ready, until the poller is stopped or destroyed.
    void start(std::function<void()> on_ready);
    void stop();

    /// The sockets that are ready now, a bounded number. Valid until the next call.
    std::span<const Ready> ready();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::net
