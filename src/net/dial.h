#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace holdfast::net {

/// Where to connect to: a name or an address, without brackets, and a port.
struct Destination {
    std::string host;
    std::uint16_t port = 0;
};

/// An attempt to connect. It owns itself until it is done or cancelled.
class Attempt;

using OnConnected = std::function<void(Result<boost::asio::ip::tcp::socket>)>;

/// Resolves the name and tries its addresses, one after the other, until `within` has passed; zero: as long as the
/// system tries. Calls back once, on the loop, unless it is cancelled. Error `unreachable`.
std::weak_ptr<Attempt> dial(boost::asio::io_context& loop, Destination to, Duration within, OnConnected done);

/// Nothing is called after this. Does nothing if the attempt is done.
void cancel(const std::weak_ptr<Attempt>& attempt);

/// Connects to the first of several destinations that can be reached, and does so again whenever it is asked to. After
/// all of them failed there is a pause, with jitter, so that those that lost each other do not reconnect all at once.
class Dialer {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        std::vector<Destination> to;  ///< at least one
        Duration attempt_within;
        Backoff::Limits pauses;
        std::uint64_t seed;
        std::function<void(boost::asio::ip::tcp::socket)> on_socket;
        std::function<void(const std::string& why)> on_failure;  ///< another attempt follows
    };
    explicit Dialer(Parts parts);
    ~Dialer();
    Dialer(const Dialer&) = delete;
    Dialer& operator=(const Dialer&) = delete;

    /// Connects at once.
    void dial();
    /// Connects after a pause, which grows with each call until succeeded() is called.
    void dial_later();
    void succeeded();
    /// Nothing is called after this.
    void stop();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::net
