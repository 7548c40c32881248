#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>

#include "net/tls.h"

namespace holdfast::net {

/// Runs the steps of handshakes on threads of its own. A step takes about a millisecond of CPU; ten thousand clients
/// that reconnect at once would hold the loop for ten seconds.
///
/// Steps run in the order of their requests. Clients that come while many wait are told so by a `false`: their door
/// closes them, and they come back later.
class TlsHandshakes {
 public:
    struct Limits {
        std::size_t threads = 1;
        std::size_t waiting = 4096;  ///< steps that have not begun
    };
    TlsHandshakes(boost::asio::io_context& loop, Limits limits);
    /// Waits for the steps under way. No callback runs after this.
    ~TlsHandshakes();
    TlsHandshakes(const TlsHandshakes&) = delete;
    TlsHandshakes& operator=(const TlsHandshakes&) = delete;

    /// Runs one step of this stream's handshake, then calls back on the loop. Nobody else uses the stream meanwhile.
    /// False, and no callback, if too many steps wait.
    [[nodiscard]] bool step(std::shared_ptr<TlsStream> stream, std::function<void(TlsStream::Step)> done);

    std::size_t waiting() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::net
