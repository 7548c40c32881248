#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/peer_watch.h"
#include "net/write_progress.h"

namespace holdfast::http {

/// Bytes in and out over one socket, with a limit on both and on the time without progress. Knows nothing of HTTP.
///
/// Reads all the time until the input is full, so that the end of the peer's sending half is noticed while a request
/// waits. Lives as long as an operation or the door holds it; after close() nothing is called any more.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
    using Clock = std::chrono::steady_clock;

    Connection(boost::asio::ip::tcp::socket socket, Duration write_timeout);
    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// At once, whatever is under way.
    void close();
    bool is_closed() const { return closed_; }

    /// Looks whether a deadline has passed. Called every now and then.
    void check(Clock::time_point now);

    /// Writes what is queued, closes the sending half, waits a moment for the peer to do the same: closing with input
    /// unread would throw away an answer that is still on its way.
    void finish();
    bool is_finishing() const { return finishing_; }
    bool is_lingering() const { return lingering_; }

 protected:
    static constexpr std::size_t max_input_bytes = 64 * 1024;

    /// More input, or its end.
    virtual void on_input() = 0;
    /// All that was queued is written.
    virtual void on_written() = 0;
    virtual void on_close() = 0;
    /// False if there is no time to wait for the peer's end.
    virtual bool may_linger() const = 0;
    /// Deadlines of the derived class; called by check() unless the connection is finishing.
    virtual void on_check(Clock::time_point now) = 0;

    std::string_view input() const { return {input_.data() + begin_, end_ - begin_}; }
    void consume(std::size_t bytes) { begin_ += bytes; }
    bool is_input_full() const { return end_ - begin_ >= max_input_bytes; }
    bool has_ended() const { return ended_; }
    void read_on();

    /// While somebody waits, the end of a host that went away without a word must be noticed soon.
    void watch_peer(Watch watch) { holdfast::watch_peer(socket_.native_handle(), watch); }
    bool peer_is_there() const;

    std::string& output() { return output_; }
    std::size_t buffer_bytes() const { return input_.capacity() + output_.capacity() + writing_.capacity(); }
    std::size_t queued() const { return output_.size() + writing_.size() - written_; }
    void flush();

    /// Runs later, from the loop, unless the connection is closed by then.
    template <class Derived>
    void later(void (Derived::*function)());
    boost::asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
    boost::asio::ip::tcp::socket socket_;
    Duration write_timeout_;
    std::vector<char> input_;
    std::size_t begin_ = 0, end_ = 0;
    std::string output_;   // to be written next
    std::string writing_;  // being written
    std::size_t written_ = 0;
    WriteProgress progress_;
    Clock::time_point linger_deadline_;
    bool reading_ = false, ended_ = false, finishing_ = false, lingering_ = false, closed_ = false;

    void on_read(boost::system::error_code error, std::size_t bytes);
    void write_some();
    void on_write(boost::system::error_code error, std::size_t bytes);
    void linger();
    void make_room();
};

template <class Derived>
void Connection::later(void (Derived::*function)()) {
    boost::asio::post(socket_.get_executor(), [self = shared_from_this(), function] {
        if (!self->closed_) (static_cast<Derived*>(self.get())->*function)();
    });
}

}  // namespace holdfast::http
