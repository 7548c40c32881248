#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "discovery/relay/token_bucket.h"

namespace holdfast::relay {

/// Two connected sockets, of a consumer and of the publisher it asked for, to be joined: what comes from one goes to
/// the other. The stream owns the sockets.
struct JoinedSockets {
    std::uint64_t id = 0;
    int consumer = -1;
    int publisher = -1;
    std::string for_consumer{};  ///< to be sent before anything that comes from the other side
    std::string for_publisher{};
    std::shared_ptr<TrafficShare> service{};  ///< REQUIRES: both are there
    std::shared_ptr<TrafficShare> identity{};
};

/// One stream, on the pump's thread: copies both ways as far as it can without waiting. What a side does not take stays
/// here, and until it is gone nothing more is read from the other.
class Stream {
 public:
    enum class Which : std::uint8_t { consumer, publisher };
    struct Event {
        bool readable = false;
        bool writable = false;
        bool hung_up = false;
        bool failed = false;
    };
    /// Of two directions the greater one counts.
    enum class Outcome : std::uint8_t {
        waits,   ///< for an event
        more,    ///< could go on at once, but others have their turn first
        paused,  ///< until there is something in a bucket: see thirsty()
        ended,   ///< both directions have
        broken,  ///< a side was reset, so the other is
    };

    explicit Stream(JoinedSockets joined);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    std::uint64_t id() const { return id_; }
    int socket(Which which) const { return sides_[static_cast<std::size_t>(which)].socket; }
    void note(Which which, Event event);

    /// Moves what can be moved, so many bytes from each side at most, by way of a buffer that all streams share.
    Outcome move(std::span<char> buffer, std::size_t max_bytes);

    /// Where there was nothing left in the bucket.
    const std::shared_ptr<TrafficShare>& thirsty() const { return shares_[thirsty_]; }
    const std::array<std::shared_ptr<TrafficShare>, 2>& shares() const { return shares_; }

    /// Both sides see a reset, rather than an end, when the sockets are closed.
    void reset_both();

    // The pump's: where it is listed.
    bool is_active = false;
    TrafficShare* paused_in = nullptr;
    std::list<Stream*>::iterator paused_at{};

 private:
    struct Side {
        int socket = -1;
        bool readable = true;
        bool writable = true;
        bool hung_up = false;  // nothing comes after what can be read, so a short read is no sign that there is nothing
        bool ended = false;    // has been read to its end
        bool shut = false;     // has been told that there is nothing more for it
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

}  // namespace holdfast::relay
