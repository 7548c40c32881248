#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "discovery/relay/stream.h"

namespace holdfast::relay {

/// Copies the bytes of all streams, on one thread of its own, so that gigabytes never delay a renewal: the authority's
/// thread hands sockets over and is told of ends, and neither waits for the other.
///
/// Each stream that can go on has a bounded share of every turn. A stream whose service or identity has used up its
/// bytes per second is paused until there are some again. Memory is held only for a side that does not read: what was
/// read last, at most half of max_stream_bytes for each direction.
class StreamPump {
 public:
    static constexpr std::size_t max_stream_bytes = 256 * 1024;

    /// `on_ended` is called on the pump's thread with the ids of streams whose sockets are closed.
    using OnEnded = std::function<void(std::vector<std::uint64_t> ids)>;

    explicit StreamPump(OnEnded on_ended);
    ~StreamPump();
    StreamPump(const StreamPump&) = delete;
    StreamPump& operator=(const StreamPump&) = delete;

    /// Error `no_pump` if the system refuses it what it needs.
    Result<void> start();

    /// From any thread. Both sockets do not block.
    void join(JoinedSockets joined);

    /// From any thread: resets every stream there is. on_ended is called for them.
    void cut_all();

    /// Resets every stream that is left, and ends the thread. Nothing is called afterwards.
    void stop();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::relay
