#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>

namespace boost::asio {
class io_context;
}

namespace holdfast {

/// When a door works: time is told before, once for all that was received together (T6), and what is due next is looked
/// up after.
struct DoorTurn {
    std::function<void()> begins;
    std::function<void()> ends;
};

/// The sockets of one door that are ready, found together: a set of its own that the loop watches as a whole, so that
/// what the loop costs per turn is shared by all connections that are ready in it, and a socket that has been read
/// short is not read again only to hear that there is nothing.
class Poller {
 public:
    explicit Poller(boost::asio::io_context& loop);
    ~Poller();

    struct Interest {
        bool input = true;
        bool output = false;
    };
    struct Ready {
        void* who = nullptr;
        bool input = false;
        bool output = false;
        bool broken = false;  ///< nothing can be sent any more
    };

    /// False if the system refused.
    [[nodiscard]] bool add(int socket, void* who);
    void change(int socket, void* who, Interest interest);
    void remove(int socket);

    /// Calls, from the loop, whenever some are ready, until the poller is gone or told to stop.
    void start(std::function<void()> on_ready);
    void stop();

    /// Those that are ready now, a bounded number; valid until the next call.
    std::span<const Ready> ready();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
