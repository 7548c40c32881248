#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace holdfast {

/// An endpoint as HOST:PORT.
std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);

/// Without the disguise of an IPv4 address on a socket of IPv6, so that bans know it.
boost::asio::ip::tcp::endpoint plain_endpoint(const boost::asio::ip::tcp::endpoint& endpoint);

/// The bare socket, as the doors want it that read and write by themselves: does not block, sends at once, and notices
/// in time that the other end is dead. -1 if it cannot be had.
int take_out(boost::asio::ip::tcp::socket& socket);

/// True if the process has fewer free files than that besides this socket: the system gives out the lowest number that
/// is free. So that one door does not take the last ones, each leaves some to those that are needed more: clients of
/// Redis and of the relay to HTTP, which tells how the server is, and HTTP to the other nodes of a cluster.
bool leaves_fewer_files(int socket, std::size_t reserved);
inline constexpr std::size_t files_left_by_http = 32;
inline constexpr std::size_t files_left_by_others = 160;

/// Listens on one address and hands over whoever connects, from the loop, until it is closed. When the system refuses
/// to accept, as it does without a free file, it asks again after a pause.
class Listener {
 public:
    using OnSocket = std::function<void(boost::asio::ip::tcp::socket)>;

    Listener(boost::asio::io_context& loop, OnSocket on_socket);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// Starts on HOST:PORT; port 0 for a free one. Returns the address bound; error `cannot_listen` says why not.
    Result<boost::asio::ip::tcp::endpoint> listen(const std::string& address);
    /// Nobody is handed over from now on.
    void close();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
