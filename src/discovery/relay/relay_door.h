#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "discovery/directory/directory.h"
#include "discovery/relay/stream_table.h"
#include "net/poller.h"

namespace boost::asio {
class io_context;
}
namespace prometheus {
class Registry;
}

namespace holdfast {

struct RelayDoorOptions {
    std::string address = "127.0.0.1:7403";  ///< HOST:PORT; port 0 for a free one
    std::string told{};                      ///< where consumers are told to ask; empty: as bound
    std::size_t max_publishers = 10'000;
    std::size_t max_strangers = 4096;  ///< over that the oldest makes room
    Duration stranger_timeout = 10s;
    Duration publisher_timeout = 90s;
    relay::StreamLimits streams{};
    /// Why nothing can be asked yet; none once it can. Until then everybody is refused.
    std::function<const Error*()> not_yet = [] { return nullptr; };
};

/// The relay's door: docs/discovery.md's protocol. Publishers speak to the directory through it, consumers ask it for
/// services, and it joins both; it never opens a connection.
///
/// Everything but the copying runs on the io_context's one thread, in turns. A turn receives from all connections that
/// are ready, then reads the clock, then handles a bounded number of updates, whose signatures take a while, and closes
/// a bounded number of connections, so that neither a storm of one nor of the other keeps anybody waiting for long.
/// Streams are copied by a thread of their own (stream_pump.h); they outlive the control connection of their publisher.
class RelayDoor {
 public:
    RelayDoor(boost::asio::io_context& loop, core::Directory& directory, prometheus::Registry& metrics,
              RelayDoorOptions options, DoorTurn turn);
    ~RelayDoor();

    /// Starts to listen, and tells the directory where. Returns the address bound, as HOST:PORT; error `cannot_listen`
    /// says why not.
    Result<std::string> listen();

    /// Tells a connected publisher what the directory says of its lease.
    void withdraw(const core::Withdrawal& withdrawal);
    /// Tells it that what it was refused may be granted now.
    void may_retry(const core::RetryNotice& notice);

    /// Accepts nothing more, leaves streams a moment to end (bounded), resets the rest, then calls done.
    void stop(std::function<void()> done);

    struct Counts {
        std::size_t strangers = 0;
        std::size_t publishers = 0;
        relay::StreamTable::Counts streams{};
        relay::StreamTable::Carried carried{};
    };
    Counts counts() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
