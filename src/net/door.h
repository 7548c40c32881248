#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/alive.h"
#include "base/result.h"
#include "base/time.h"
#include "net/connection.h"
#include "net/listener.h"
#include "net/turns.h"

namespace holdfast::net {

/// How often to check deadlines, of which this is the shortest: they may be exceeded by a fraction.
Duration check_period(Duration shortest_timeout, Duration most = 100ms);

/// The TCP side of a door: takes connections in up to a limit, gives them their turns, checks their deadlines, closes
/// the largest if all buffer too much, and stops in bounded time. A protocol derives its connections from Connection
/// and is the door's owner.
///
/// Everything runs on the io_context's one thread.
class Door {
 public:
    class Owner {
     public:
        virtual ~Owner() = default;
        /// Makes the connection for a socket that was accepted. The door takes it in, and calls its begin() or
        /// refuse().
        virtual std::shared_ptr<Connection> make_connection(Admitted admitted) = 0;
        /// The number of connections within the limit has changed.
        virtual void on_count(std::size_t) {}
        /// Called periodically, after the connections were checked. `late`: by how much the loop was late.
        virtual void on_check(Duration /*late*/) {}
        /// Called at the end of a turn. Returns true if there is more to do in another turn.
        virtual bool after_turn() { return false; }
        /// Whether the door may stop when its connections are gone; if not, call stop_if_idle() later.
        virtual bool is_idle() const { return true; }
    };
    static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
    struct Options {
        std::size_t max_connections = no_limit;
        std::size_t max_refused = 0;              ///< over the limit at one time, and told so; more are just closed
        bool oldest_refused_goes = false;         ///< to make room for the next one over the limit
        std::size_t files_left = 0;               ///< fds that it leaves to others (leaves_fewer_files())
        std::size_t max_buffer_bytes = no_limit;  ///< of all connections; above it, the largest are closed
        Duration check_every = 100ms;
        Duration stop_grace = 2s;
        bool lingers_at_stop = false;  ///< whether to wait for peers to close even then
    };

    Door(boost::asio::io_context& loop, Owner& owner, Options options, DoorTurn turn);
    ~Door();
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

    /// Starts to listen. Returns the bound address; error `cannot_listen` has the reason.
    Result<boost::asio::ip::tcp::endpoint> listen(const std::string& address);

    using Make = std::function<std::shared_ptr<Connection>(Admitted)>;
    /// Takes in a socket that was connected elsewhere: `make` makes its connection. False if the system refuses.
    [[nodiscard]] bool adopt(boost::asio::ip::tcp::socket socket, std::string peer, const Make& make);

    /// Stops accepting, gives what is under way a bounded time to finish, closes the rest, then calls done.
    void stop(std::function<void()> done);
    void stop_if_idle();
    /// Closes everything at once. The owner is not called any more.
    void shut();

    /// Null if it is closed.
    Connection* find(std::uint64_t id) const;
    std::size_t connections() const { return connections_.size() - refused_.size(); }
    /// How many there ever were.
    std::uint64_t admitted() const { return admitted_; }
    bool is_stopping() const { return stopping_; }

    Turns& turns() { return turns_; }

    // ---- for the connections ----
    Buffers& buffers() { return buffers_; }
    bool may_linger() const { return !stopping_ || options_.lingers_at_stop; }
    void remove(Connection& connection);

 private:
    void admit(boost::asio::ip::tcp::socket socket);
    bool make_room_to_refuse(bool few_files, bool scarce);
    std::shared_ptr<Connection> take_in(boost::asio::ip::tcp::socket socket, std::string peer, const Make& make);
    void close_all();
    void check_later();
    void check(Duration late);
    void close_largest();
    void stopped();

    boost::asio::io_context& loop_;
    Owner& owner_;
    const Options options_;
    Turns turns_;
    Buffers buffers_;
    Listener listener_;
    boost::asio::steady_timer check_timer_, stop_timer_;
    std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections_;
    std::map<std::uint64_t, Connection*> refused_;  // those over the limit, by age
    std::uint64_t admitted_ = 0;
    std::function<void()> on_stopped_;
    bool stopping_ = false, shut_ = false;
    Alive alive_;
};

}  // namespace holdfast::net
