#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/time.h"

namespace holdfast::doors::peer {

/// Connects to one address and retries on failure. Each attempt has a timeout. The backoff doubles, with jitter, so
/// that nodes that lost each other do not reconnect all at once.
class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        std::string address;  ///< HOST:PORT
        Duration pause_least, max_pause;
        Duration attempt_within;
        std::uint64_t seed;
        std::function<void(boost::asio::ip::tcp::socket)> on_socket;
        std::function<void(const std::string& why)> on_failure;  ///< another attempt follows
    };
    explicit Dialer(Parts parts);

    /// Connects at once.
    void dial();
    /// Connects after a backoff, which grows with each call until succeeded() is called.
    void dial_later();
    void succeeded() { failures_ = 0; }
    void stop();

 private:
    Duration next_pause();
    void resolve();
    void connect(std::vector<boost::asio::ip::tcp::endpoint> endpoints);
    void failed(const std::string& why);

    Parts parts_;
    Random random_;
    boost::asio::ip::tcp::resolver resolver_;
    boost::asio::ip::tcp::socket socket_;
    boost::asio::steady_timer timer_;
    std::uint64_t attempt_ = 0;  // completions of earlier attempts are ignored
    unsigned failures_ = 0;
    bool stopped_ = false;
};

}  // namespace holdfast::doors::peer
