#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "discovery/relay/stream.h"

namespace holdfast::discovery::relay {

/// Copies the bytes of all streams on its own thread, so that bulk traffic never delays a renewal. The authority's
/// thread hands sockets over and is notified when streams end; neither thread waits for the other.
///
/// Each stream that can continue gets a bounded share of every turn. A stream whose service or identity has exhausted
/// its rate is paused until tokens are available. Memory is used only for a side that does not read: the last chunk
/// read, at most half of max_stream_bytes per direction.
class StreamPump {
 public:
    static constexpr std::size_t max_stream_bytes = 256 * 1024;

    /// `on_ended` is called on the pump's thread with the ids of streams whose sockets are closed.
    using OnEnded = std::function<void(std::vector<std::uint64_t> ids)>;

    explicit StreamPump(OnEnded on_ended);
    ~StreamPump();
    StreamPump(const StreamPump&) = delete;
    StreamPump& operator=(const StreamPump&) = delete;

    /// Error `no_pump` if the system lacks the resources.
    Result<void> start();

    /// Callable from any thread. REQUIRES: both sockets are non-blocking.
    void join(JoinedSockets joined);

    /// Callable from any thread. Resets every stream; on_ended is called for them.
    void cut_all();

    /// Resets the remaining streams and ends the thread. No callback runs afterwards.
    void stop();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::discovery::relay
