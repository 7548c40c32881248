#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "discovery/relay/token_bucket.h"

namespace holdfast::discovery::relay {

/// Two connected sockets, of a consumer and of its publisher, to be joined: bytes from each are copied to the other.
/// The stream owns the sockets.
struct JoinedSockets {
    std::uint64_t id = 0;
    int consumer = -1;
    int publisher = -1;
    std::string for_consumer{};  ///< sent before any bytes from the other side
    std::string for_publisher{};
    std::shared_ptr<TrafficShare> service{};  ///< REQUIRES: this and `identity` are set
    std::shared_ptr<TrafficShare> identity{};
};

/// One stream, on the pump's thread. Copies in both directions without blocking. Bytes that a side does not accept are
/// buffered here, and nothing more is read from the other side until they are sent.
class Stream {
 public:
    enum class Which : std::uint8_t { consumer, publisher };
    struct Event {
        bool readable = false;
        bool writable = false;
        bool hung_up = false;
        bool failed = false;
    };
    /// The greater value of the two directions counts.
    enum class Outcome : std::uint8_t {
        waits,   ///< for an event
        more,    ///< could continue at once, but yields to other streams
        paused,  ///< until a bucket has tokens: see thirsty()
        ended,   ///< both directions have ended
        broken,  ///< one side was reset, so the other is to be reset
    };

    explicit Stream(JoinedSockets joined);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    std::uint64_t id() const { return id_; }
    int socket(Which which) const { return sides_[static_cast<std::size_t>(which)].socket; }
    void note(Which which, Event event);

    /// Copies what it can, at most `max_bytes` from each side, through a buffer that all streams share.
    Outcome move(std::span<char> buffer, std::size_t max_bytes);

    /// The share whose bucket was empty.
    const std::shared_ptr<TrafficShare>& thirsty() const { return shares_[thirsty_]; }
    const std::array<std::shared_ptr<TrafficShare>, 2>& shares() const { return shares_; }

    /// Makes closing the sockets send a reset rather than an end to both sides.
    void reset_both();

    // The pump's lists that this stream is in.
    bool is_active = false;
    TrafficShare* paused_in = nullptr;
    std::list<Stream*>::iterator paused_at{};

 private:
    struct Side {
        int socket = -1;
        bool readable = true;
        bool writable = true;
        bool hung_up = false;  // no more data will arrive, so a short read does not mean that the socket is drained
        bool ended = false;    // read to its end
        bool shut = false;     // its sending direction was shut down
        std::string pending;   // for this side, from `sent` on
        std::size_t sent = 0;
    };
    Outcome copy(Side& from, Side& to, std::span<char> buffer, std::size_t max_bytes);
    bool flush(Side& to);
    bool pass_on(Side& to, std::span<const char> bytes);
    std::uint64_t allowance();
    void count(const Side& to, std::size_t bytes);

    std::uint64_t id_;
    std::array<Side, 2> sides_;
    std::array<std::shared_ptr<TrafficShare>, 2> shares_;
    std::size_t thirsty_ = 0;
    bool failed_ = false;
};

}  // namespace holdfast::discovery::relay
