#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "base/result.h"
#include "base/time.h"
#include "net/turns.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::doors::resp {

struct RespDoorOptions {
    std::string address = "127.0.0.1:7401";  ///< HOST:PORT; port 0 for a free one
    std::size_t max_connections = 10'000;
    std::size_t max_buffer_bytes = 256 << 20;  ///< of all connections; above it, the largest are closed
    Duration idle_timeout{};       ///< zero: no timeout, as in Redis; lock clients keep connections in a pool
    Duration read_timeout = 10s;   ///< of a command, from its first byte to its last
    Duration write_timeout = 60s;  ///< without the client reading any output
    std::string version;
    std::function<void(std::string_view)> warn{};  ///< receives warnings; may be empty
    /// Why requests cannot be served yet; null once they can. Until then only connection commands are answered.
    std::function<const Error*()> not_yet = [] { return nullptr; };
};

/// The RESP door: docs/resp.md translated to requests of the authority and back. Decides nothing itself.
///
/// Everything runs on the io_context's one thread, in turns. A turn receives the input of all ready connections, then
/// reads the clock, then handles commands for a bounded time (run_queue.h) and sends the replies of each connection
/// together. The clock is read after the last byte was received, so that no request is timed from before it was sent
/// (T3), and again every few hundred commands, so that a long turn does not honour leases long after they expired (T2).
class RespDoor {
 public:
    RespDoor(boost::asio::io_context& loop, authority::Authority& authority, RespDoorOptions options,
             net::DoorTurn turn);
    ~RespDoor();

    /// Starts to listen. Returns the address bound, as HOST:PORT; error `cannot_listen` has the reason.
    Result<std::string> listen();

    /// Stops accepting, gives replies under way a bounded time to finish, closes the rest, then calls done.
    void stop(std::function<void()> done);

    /// How often a lock was refused because the key already holds the same value: Redlock over nodes of one Holdfast.
    std::uint64_t same_value_sets() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::doors::resp
