#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "discovery/directory/directory.h"
#include "discovery/relay/stream_table.h"
#include "net/turns.h"

namespace boost::asio {
class io_context;
}
namespace prometheus {
class Registry;
}

namespace holdfast::discovery::relay {

struct RelayDoorOptions {
    std::string address = "127.0.0.1:7403";  ///< HOST:PORT; port 0 for a free one
    std::string told{};                      ///< the address given to consumers; empty: the bound one
    std::size_t max_publishers = 10'000;
    std::size_t max_strangers = 4096;  ///< beyond that, the oldest is closed
    Duration stranger_timeout = 10s;
    Duration publisher_timeout = 90s;
    std::size_t max_buffer_bytes = 256 << 20;  ///< of all connections; above it, the largest are closed
    StreamLimits streams{};
    /// The reason why no requests can be served yet; null once they can. Until then every connection is refused.
    std::function<const Error*()> not_yet = [] { return nullptr; };
};

/// The relay's door, which implements the protocol in docs/discovery.md. Publishers reach the directory through it,
/// consumers ask it for services, and it joins both; it never opens a connection.
///
/// Everything except copying runs on the io_context's single thread, in turns. A turn receives from all ready
/// connections, then reads the clock, then handles messages for a bounded time (run_queue.h), since verifying
/// signatures is slow, and releases the leases of a bounded number of those that left. So a burst of either delays
/// nobody for long. Streams are copied on a separate thread (stream_pump.h); they outlive the control connection of
/// their publisher.
class RelayDoor {
 public:
    RelayDoor(boost::asio::io_context& loop, directory::Directory& directory, prometheus::Registry& metrics,
              RelayDoorOptions options, net::DoorTurn turn);
    ~RelayDoor();

    /// Starts to listen and gives the directory the address. Returns the bound address as HOST:PORT, or error
    /// `cannot_listen` with the reason.
    Result<std::string> listen();

    /// Notifies a connected publisher that a lease of its connection is gone.
    void withdraw(const directory::Withdrawal& withdrawal);
    /// Notifies a connected publisher that a refused request may now succeed.
    void may_retry(const directory::RetryNotice& notice);

    /// Stops accepting, gives streams a bounded time to end, resets the rest, then calls done.
    void stop(std::function<void()> done);

    struct Counts {
        std::size_t strangers = 0;
        std::size_t publishers = 0;
        StreamTable::Counts streams{};
        StreamTable::Carried carried{};
    };
    Counts counts() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::discovery::relay
