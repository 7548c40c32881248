#pragma once

#include <span>
#include <string_view>

#include "base/fd.h"
#include "net/poller.h"

namespace holdfast::net {

/// The bytes of one connection, without blocking. Plain TCP; whatever encrypts them goes here, since nothing but
/// Connection reads, writes, and asks what to wait for.
class Transport {
 public:
    explicit Transport(int socket) : socket_(socket) {}

    /// What was moved. Zero bytes, and neither end nor error: nothing can be moved now.
    struct Moved {
        std::size_t bytes = 0;
        bool ended = false;  ///< the peer sends nothing any more
        int error = 0;       ///< as in errno; nothing can be moved any more
    };
    Moved read_some(std::span<char> room);
    /// Writes as much as fits into the buffers of the kernel.
    Moved write_some(std::string_view bytes);
    /// Ends the sending half. False if the connection is broken.
    [[nodiscard]] bool end_sending();

    /// What to wait for in order to read or write as asked.
    Poller::Interest wants(Poller::Interest asked) const { return asked; }

    bool is_open() const { return static_cast<bool>(socket_); }
    int fd() const { return socket_.get(); }
    void close() { socket_.close(); }
    /// Transfers the socket to the caller.
    int release();

 private:
    Fd socket_;
};

}  // namespace holdfast::net
