#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "base/result.h"
#include "base/time.h"
#include "net/poller.h"

namespace boost::asio {
class io_context;
}

namespace holdfast {

struct RespDoorOptions {
    std::string address = "127.0.0.1:7401";  ///< HOST:PORT; port 0 for a free one
    std::size_t max_connections = 10'000;
    std::size_t max_buffer_bytes = 256 << 20;  ///< of all connections; beyond, those that have most are closed
    Duration idle_timeout{};       ///< zero: none, as Redis has none; lock clients keep connections in a pool
    Duration read_timeout = 10s;   ///< of a command, from its first byte to its last
    Duration write_timeout = 60s;  ///< without progress of what is to be read by the client
    std::string version;
    std::function<void(std::string_view)> warn{};  ///< where warnings go; none: nowhere
    /// Why nothing can be asked yet; none once it can. Until then only commands about the connection are answered.
    std::function<const Error*()> not_yet = [] { return nullptr; };
};

/// The RESP door: docs/resp.md translated to requests of the authority and back. Decides nothing itself.
///
/// Everything runs on the io_context's one thread, in turns. A turn receives what has come on all connections that are
/// ready, then reads the clock, then handles it all and sends the answers of each connection together. The clock is
/// read after the last byte was received, so that no request is counted from before it was sent (T3), and again every
/// few hundred commands, so that a long turn honours nothing for long past its time (T2).
class RespDoor {
 public:
    RespDoor(boost::asio::io_context& loop, core::Authority& authority, RespDoorOptions options, DoorTurn turn);
    ~RespDoor();

    /// Starts to listen. Returns the address bound, as HOST:PORT; error `cannot_listen` says why not.
    Result<std::string> listen();

    /// Accepts nothing more, lets answers under way finish for a moment (bounded), closes the rest, then calls done.
    void stop(std::function<void()> done);

    /// How often a lock was refused because its own value has the key: Redlock over nodes of one Holdfast.
    std::uint64_t same_value_sets() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
