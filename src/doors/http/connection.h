#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/peer_watch.h"
#include "net/write_progress.h"

namespace holdfast::doors::http {

/// Reads and writes bytes on one socket, with a limit on both and on the time without progress. Knows nothing of HTTP.
///
/// Keeps reading until the input buffer is full, so that it notices when the peer closes its sending half while a
/// request waits. Owned by its pending operations and the door. After close(), on_close() is the last callback.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
    using Clock = std::chrono::steady_clock;

    Connection(boost::asio::ip::tcp::socket socket, Duration write_timeout);
    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Closes immediately, even with operations under way.
    void close();
    bool is_closed() const { return closed_; }

    /// Closes the connection if a deadline has passed. Called periodically.
    void check(Clock::time_point now);

    /// Writes the queued output, closes the sending half, and waits briefly for the peer to do the same: closing with
    /// unread input would discard a response that is still in transit.
    void finish();
    bool is_finishing() const { return finishing_; }
    bool is_lingering() const { return lingering_; }

 protected:
    static constexpr std::size_t max_input_bytes = 64 * 1024;

    /// Called on more input, or on its end.
    virtual void on_input() = 0;
    /// Called when all queued output is written.
    virtual void on_written() = 0;
    virtual void on_close() = 0;
    /// False if there is no time to wait for the peer to close.
    virtual bool may_linger() const = 0;
    /// Deadlines of the derived class; called by check() unless the connection is finishing.
    virtual void on_check(Clock::time_point now) = 0;

    std::string_view input() const { return {input_.data() + begin_, end_ - begin_}; }
    void consume(std::size_t bytes) { begin_ += bytes; }
    bool is_input_full() const { return end_ - begin_ >= max_input_bytes; }
    bool has_ended() const { return ended_; }
    void read_on();

    /// While a request waits, a peer host that vanished without closing must be detected soon.
    void watch_peer(net::Watch watch) { holdfast::net::watch_peer(socket_.native_handle(), watch); }
    bool peer_is_there() const;

    std::string& output() { return output_; }
    std::size_t buffer_bytes() const { return input_.capacity() + output_.capacity() + writing_.capacity(); }
    std::size_t queued() const { return output_.size() + writing_.size() - written_; }
    void flush();

    boost::asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
    boost::asio::ip::tcp::socket socket_;
    Duration write_timeout_;
    std::vector<char> input_;
    std::size_t begin_ = 0, end_ = 0;
    std::string output_;   // to be written next
    std::string writing_;  // being written
    std::size_t written_ = 0;
    net::WriteProgress progress_;
    Clock::time_point linger_deadline_;
    bool reading_ = false, ended_ = false, finishing_ = false, lingering_ = false, closed_ = false;

    void on_read(boost::system::error_code error, std::size_t bytes);
    void write_some();
    void on_write(boost::system::error_code error, std::size_t bytes);
    void linger();
    void make_room();
};

}  // namespace holdfast::doors::http
