#pragma once

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/peer/peer_messages.h"
#include "doors/peer/handshake.h"
#include "doors/peer/outbox.h"
#include "doors/peer/peer_door.h"

namespace holdfast::doors::peer {

/// One connection to a peer: the handshake, then frames in both directions, and pings that measure the round trip and
/// detect a dead connection. Everything sent in one turn of the loop goes out in one frame and one write.
class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
    /// The owner of the link. Callbacks run on the loop, and never inside a call to the link, except close() and
    /// finish().
    class Owner {
     public:
        virtual ~Owner() = default;
        virtual std::optional<Refusal> admits(const PeerLink& link, Life peer) = 0;
        virtual void on_open(PeerLink& link) = 0;
        virtual void on_refused(PeerLink& link) = 0;  ///< by either side
        virtual void on_messages(PeerLink& link, std::vector<codec::peer::Message> messages) = 0;
        virtual void on_silence(PeerLink& link, Duration left) = 0;  ///< as the peer reports with each ping
        virtual void on_lives(PeerLink& link, const std::vector<store::quorum::LifeMark>& lives) = 0;  ///< likewise
        /// The first message on this connection with impossible contents.
        virtual void on_rejected(PeerLink& link, const std::string& why) = 0;
        /// The last callback, called exactly once.
        virtual void on_closed(PeerLink& link, const std::string& why) = 0;
    };
    struct Parts {
        Owner& owner;
        const Terms& terms;
        const PeerDoorLimits& limits;
        const std::function<Instant()>& clock;
        codec::peer::Encoder& encoder;
        codec::peer::Decoder& decoder;
        const std::function<Duration()>& silent_for;  ///< of this node; may be empty
    };
    PeerLink(boost::asio::ip::tcp::socket socket, Handshake::Side side, std::string address, Parts parts);

    void start();
    template <class AnyMessage>
    void send(const AnyMessage& message) {
        if (state_ != State::open) return;
        counts_.dropped += outbox_.add(parts_.encoder, message);
        flush_soon();
    }
    /// Sends what is queued, then closes once the peer has received it. A link that is not open closes at once.
    void finish();
    void close(const std::string& why);
    /// Closes without notifying the owner, which may be gone.
    void abandon();

    struct Counts {
        std::uint64_t writes = 0, sent = 0, received = 0, dropped = 0, rejected = 0;
    };
    const Counts& counts() const { return counts_; }
    std::size_t bytes_queued() const { return outbox_.bytes() + next_.size() + (output_.size() - written_); }
    bool connects() const { return connects_; }
    const std::string& address() const { return address_; }
    bool is_open() const { return state_ == State::open; }
    /// Known once the peer has introduced itself.
    std::optional<Life> peer() const { return peer_; }
    const Directories& directories() const { return handshake_.directories(); }
    std::optional<Refusal> refusal() const { return refusal_; }
    bool refused_by_peer() const { return refused_by_peer_; }
    std::string why_refused() const { return handshake_.why_refused(); }
    /// Of its frames. REQUIRES: it is open.
    std::uint32_t protocol() const { return handshake_.protocol(); }
    std::optional<Duration> round_trip() const { return round_trip_; }
    /// The peer's remaining silence; nothing before its first report.
    std::optional<Duration> silent_for(Instant now) const {
        if (!silent_until_) return std::nullopt;
        return std::max(*silent_until_ - now, Duration::zero());
    }
    Instant open_since() const { return open_since_; }

 private:
    enum class State : std::uint8_t { shaking_hands, open, finishing, refusing, closed };

    void read();
    void on_read(std::size_t bytes);
    bool shake_hands(std::string_view body);
    bool take_content(std::string_view body, std::vector<codec::peer::Message>& messages);
    void on_pong(std::uint64_t number);
    void make_room_to_read();
    void flush_soon();
    void flush();
    void write();
    void on_written(std::size_t bytes);
    void check_later(Duration after);
    void check();

    boost::asio::ip::tcp::socket socket_;
    boost::asio::steady_timer timer_;
    const bool connects_;
    const std::string address_;
    const Parts parts_;
    State state_ = State::shaking_hands;

    Handshake handshake_;
    std::optional<Sealer> sealer_;
    std::optional<Opener> opener_;
    std::optional<Life> peer_;
    std::optional<Refusal> refusal_;
    bool refused_by_peer_ = false;

    std::string input_;
    std::size_t received_ = 0;  // bytes of input_ that are filled

    Outbox outbox_;
    std::string content_;
    std::string next_;    // to be written
    std::string output_;  // being written
    std::size_t written_ = 0;
    bool writing_ = false, flush_posted_ = false;

    Instant open_since_, heard_at_, progress_at_, pinged_at_;
    std::uint64_t ping_ = 0;  // number of the last ping
    bool ping_due_ = false;
    std::uint64_t pong_ = 0;  // number of the pong to send; 0: none
    bool answered_ = true;
    std::optional<Duration> round_trip_;
    std::optional<Instant> silent_until_;  // of the peer
    Counts counts_;
};

}  // namespace holdfast::doors::peer
