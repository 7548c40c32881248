#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/peer_watch.h"
#include "net/transport.h"
#include "net/turns_of.h"
#include "net/write_progress.h"

namespace holdfast::doors::http {

/// Reads and writes bytes on one socket, with a limit on both and on the time without progress. Knows nothing of HTTP.
///
/// Keeps reading until the input buffer is full, so that it notices when the peer closes its sending half while a
/// request waits. Owned by the door. After close(), on_close() is the last callback.
class Connection : public std::enable_shared_from_this<Connection>, public net::Runnable {
 public:
    using Clock = std::chrono::steady_clock;
    using Turns = net::TurnsOf<Connection>;

    Connection(int socket, Turns& turns, Duration write_timeout);
    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Begins to poll. False if the kernel refuses.
    [[nodiscard]] bool start() { return turns_.poller().add(transport_.fd(), this); }
    /// Receives input without handling it. `hung_up`: nothing can be sent any more.
    void receive(bool hung_up);
    /// Handles input for a slice, and sends.
    void handle();

    /// Closes immediately, even with a request under way.
    void close();
    bool is_closed() const { return !transport_.is_open(); }

    /// Closes the connection if a deadline has passed. Called periodically.
    void check(Clock::time_point now);

    /// Writes the queued output, closes the sending half, and waits briefly for the peer to do the same: closing with
    /// unread input would discard a response that is still in transit.
    void finish();
    bool is_finishing() const { return finishing_; }
    bool is_lingering() const { return lingering_; }

 protected:
    static constexpr std::size_t max_input_bytes = 64 * 1024;

    /// Does what there is to do with the input, and adds to the output, while its slice lasts (run_queue.h). Returns
    /// true if it stopped before, or because there is too much output: it runs again once all output is written.
    virtual bool run() = 0;
    virtual void on_close() = 0;
    /// False if there is no time to wait for the peer to close.
    virtual bool may_linger() const = 0;
    /// Deadlines of the derived class; called by check() unless the connection is finishing.
    virtual void on_check(Clock::time_point now) = 0;

    std::string_view input() const { return {input_.data() + begin_, end_ - begin_}; }
    void consume(std::size_t bytes) { begin_ += bytes; }
    bool is_input_full() const { return end_ - begin_ >= max_input_bytes; }
    bool has_ended() const { return ended_; }
    bool is_slice_over() const { return turns_.queue().is_slice_over(); }
    /// Runs soon, and writes what was added to the output.
    void wake();

    /// While a request waits, a peer host that vanished without closing must be detected soon.
    void watch_peer(net::Watch watch) { holdfast::net::watch_peer(transport_.fd(), watch); }
    bool peer_is_there() const;

    std::string& output() { return output_; }
    std::size_t buffer_bytes() const { return input_.capacity() + output_.capacity(); }
    std::size_t queued() const { return output_.size() - sent_; }
    /// Writes without waiting for the next turn.
    void flush();

 private:
    net::Transport transport_;
    Turns& turns_;
    Duration write_timeout_;
    net::Poller::Interest interest_;
    std::vector<char> input_;
    std::size_t begin_ = 0, end_ = 0;
    std::string output_;  // unsent from sent_ on
    std::size_t sent_ = 0;
    std::size_t written_ = 0;  // since output last waited for nothing
    net::WriteProgress progress_;
    Clock::time_point linger_deadline_;
    bool ended_ = false, broken_ = false, finishing_ = false, lingering_ = false;

    bool wants_input() const { return !ended_ && (finishing_ || !is_input_full()); }
    void make_room();
    void some_written(std::size_t bytes);
    void all_written();
    void linger();
    void look_for(net::Poller::Interest interest);
};

}  // namespace holdfast::doors::http
