#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/buffers.h"
#include "net/peer_watch.h"
#include "net/transport.h"
#include "net/turns.h"
#include "net/write_progress.h"

namespace holdfast::net {

class Door;

/// A connected socket that a door has taken in: what a connection is made of.
struct Admitted {
    Door& door;
    Transport transport;
    std::string peer;  ///< address of the other end, HOST:PORT
    std::uint64_t id;  ///< counts the connections of the door
};

/// One connection of a door: moves bytes between its buffers and the transport, with limits on both buffers and on the
/// time without progress, and ends in order. What the bytes mean is up to the derived class, which runs in slices of
/// the door's turns (turns.h).
///
/// It keeps receiving while the derived class wants input, and so notices the end of the peer's sending half while a
/// request waits. Only this class uses the transport.
///
/// Owned by the door until it is closed, and by requests under way. Once it is closed the door may be gone.
class Connection : public std::enable_shared_from_this<Connection>, public Runnable {
 public:
    using Clock = Turns::Clock;
    struct Limits {
        std::size_t max_input_bytes;  ///< received and not handled
        Duration write_timeout;       ///< without the peer reading any output (write_progress.h)
    };

    Connection(Admitted admitted, Limits limits);
    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    std::uint64_t id() const { return id_; }
    const std::string& peer() const { return peer_; }
    int socket() const { return transport_.fd(); }
    bool is_closed() const { return !transport_.is_open(); }
    /// The memory of its buffers.
    virtual std::size_t held_bytes() const { return input_.capacity() + output_.capacity(); }

    /// Runs soon, and writes what was added to the output.
    void wake() {
        if (!is_closed()) turns_.wake(*this);
    }
    /// Closes at once, even with a request under way. on_close() is the last callback. `why` is for the log.
    void close(const std::string& why = {});

    /// Transfers the socket to the caller. on_close() is not called.
    int release();

    // ---- for the door ----
    /// The door has taken it in.
    virtual void begin() {}
    /// Likewise, but it is over the limit: says so, and ends.
    virtual void refuse() {}
    /// The door stops: ends as soon as nothing is under way.
    virtual void stop() = 0;
    /// Closes in the next turn.
    void give_up(std::string why);
    /// Gives up if a deadline has passed. Called periodically.
    void check(Clock::time_point time);

    // ---- for the turns ----
    /// Receives input without handling it. `hung_up`: nothing can be sent any more.
    void receive(bool hung_up);
    /// Handles input for a slice, and sends.
    void handle();

 protected:
    /// Handles input and adds to the output, while its slice lasts (run_queue.h). Returns true if it stopped before, or
    /// because there is too much output: it runs again once all output is sent.
    virtual bool run() = 0;
    /// False while input is to wait in the kernel. Not asked once the connection finishes.
    virtual bool wants_input() const = 0;
    /// Deadlines of the derived class; not called once the connection finishes. May give_up(), but not close().
    virtual void on_check(Clock::time_point time) = 0;
    virtual void on_close(const std::string& why) = 0;

    std::string_view input() const { return input_.unread(); }
    void consume(std::size_t bytes) { input_.consume(bytes); }
    bool is_input_full() const { return input_.size() >= limits_.max_input_bytes; }
    /// The peer's sending half has ended.
    bool has_ended() const { return ended_; }

    std::string& output() { return output_; }
    std::size_t unsent() const { return output_.size() - sent_; }

    /// Sends the queued output, ends the sending half, and waits briefly for the peer to do the same: closing with
    /// unread input would discard output that is still in transit.
    void finish();
    bool is_finishing() const { return finishing_; }
    bool is_lingering() const { return lingering_; }
    bool is_giving_up() const { return broken_.has_value(); }

    Clock::time_point now() const { return turns_.now(); }
    bool is_slice_over() const { return turns_.queue().is_slice_over(); }
    void read_clock() { turns_.read_clock(); }
    const Door& door() const { return door_; }

    /// While a request waits, a peer host that vanished without closing must be detected soon.
    void watch_peer(Watch watch);
    /// False if the peer's host is gone, as far as the connection can tell (peer_watch.h).
    bool peer_is_there() const;

 private:
    bool takes_input() const;
    void send();
    void all_sent();
    void some_sent(std::size_t bytes);
    void linger();
    void poll();
    void leave_turns();

    Door& door_;
    Turns& turns_;
    Transport transport_;
    const std::string peer_;
    const std::uint64_t id_;
    Limits limits_;

    InputBuffer input_;
    std::string output_;  // unsent from sent_ on
    std::size_t sent_ = 0;
    WriteProgress progress_;
    Poller::Interest interest_;
    Clock::time_point linger_until_;
    std::optional<std::string> broken_;  // why it is to be closed
    bool ended_ = false, finishing_ = false, lingering_ = false;
};

}  // namespace holdfast::net
