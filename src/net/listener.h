#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace holdfast::net {

/// Formats an endpoint as HOST:PORT.
std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);

/// Converts an IPv4-mapped IPv6 address to plain IPv4, so that bans match it.
boost::asio::ip::tcp::endpoint plain_endpoint(const boost::asio::ip::tcp::endpoint& endpoint);

/// Releases the native fd, for doors that do their own I/O: non-blocking, without Nagle's delay, and with keepalive so
/// that a dead peer is noticed. Returns -1 on failure.
int take_out(boost::asio::ip::tcp::socket& socket);

/// True if fewer than `reserved` fds remain free above this socket; the kernel always allocates the lowest free fd. No
/// door may take the last fds. Redis and relay clients leave some to HTTP, which reports the server's health, and HTTP
/// leaves some to the other nodes of a cluster.
bool leaves_fewer_files(int socket, std::size_t reserved);
inline constexpr std::size_t files_left_by_http = 32;
inline constexpr std::size_t files_left_by_others = 160;

/// Listens on one address and passes each accepted socket to the callback, on the loop, until closed. If accept fails,
/// for example because no fd is free, it retries after a pause.
class Listener {
 public:
    using OnSocket = std::function<void(boost::asio::ip::tcp::socket)>;

    Listener(boost::asio::io_context& loop, OnSocket on_socket);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// Starts on HOST:PORT; port 0 picks a free one. Returns the bound address. Error `cannot_listen` gives the reason.
    Result<boost::asio::ip::tcp::endpoint> listen(const std::string& address);
    /// No callback runs after this.
    void close();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::net
