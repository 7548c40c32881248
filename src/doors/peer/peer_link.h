#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "codec/peer/peer_messages.h"
#include "doors/peer/handshake.h"
#include "doors/peer/outbox.h"
#include "doors/peer/peer_door.h"
#include "net/door.h"

namespace holdfast::doors::peer {

/// One connection to a peer: the handshake, then frames in both directions, and pings that measure the round trip and
/// detect a dead connection. All messages of a turn go out in one frame and one write.
class PeerLink final : public net::Connection {
 public:
    /// The owner of the link. It is called in turns of the door, and by on_closed() also when it stops.
    class Owner {
     public:
        virtual ~Owner() = default;
        virtual std::optional<Refusal> admits(const PeerLink& link, Life peer) = 0;
        virtual void on_open(PeerLink& link) = 0;
        virtual void on_refused(PeerLink& link) = 0;  ///< by either side
        /// The first message on this connection with impossible contents.
        virtual void on_rejected(PeerLink& link, const std::string& why) = 0;
        /// The last callback, called exactly once.
        virtual void on_closed(PeerLink& link, const std::string& why) = 0;
    };
    struct Parts {
        Owner& owner;
        Node& node;  ///< receives what an open link hears
        const Terms& terms;
        const PeerDoorLimits& limits;
        codec::peer::Encoder& encoder;
        codec::peer::Decoder& decoder;
    };
    /// `dialled`: the member that this node connects to; none if the other end connects.
    PeerLink(net::Admitted admitted, std::optional<store::quorum::NodeIndex> dialled, Parts parts);

    template <class AnyMessage>
    void send(const AnyMessage& message) {
        if (!is_open()) return;
        counts_.dropped += outbox_.add(parts_.encoder, message);
        wake();
    }

    struct Counts {
        std::uint64_t writes = 0, sent = 0, received = 0, dropped = 0, rejected = 0;
    };
    const Counts& counts() const { return counts_; }
    std::size_t bytes_queued() const { return outbox_.bytes() + unsent(); }
    std::optional<store::quorum::NodeIndex> dialled() const { return dialled_; }
    bool is_open() const { return sealer_ && !is_finishing() && !is_closed(); }
    /// Known once the peer has introduced itself.
    std::optional<Life> peer_life() const { return life_; }
    const Directories& directories() const { return handshake_.directories(); }
    std::optional<Refusal> refusal() const { return refusal_; }
    bool refused_by_peer() const { return refusal_ && handshake_.refused_by_peer(); }
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
    void begin() override;
    void stop() override;
    bool run() override;
    bool wants_input() const override { return true; }
    void on_check(Clock::time_point time) override;
    void on_close(const std::string& why) override { parts_.owner.on_closed(*this, why); }

    void take_frames();
    void shake_hands(std::string_view body);
    void open();
    void take_content(std::string_view body, std::vector<codec::peer::Message>& messages);
    void on_ping(const codec::peer::Frame& frame);
    void on_pong(std::uint64_t number);
    bool has_content() const { return !outbox_.empty() || ping_due_ || pong_ != 0; }
    void seal();
    void append_ping();

    const std::optional<store::quorum::NodeIndex> dialled_;
    const Parts parts_;

    Handshake handshake_;
    std::optional<Sealer> sealer_;
    std::optional<Opener> opener_;
    std::optional<Life> life_;
    std::optional<Refusal> refusal_;

    Outbox outbox_;
    std::string content_;
    bool stopping_ = false;  // once the outbox is empty

    Instant open_since_, heard_at_, pinged_at_;
    std::uint64_t ping_ = 0;  // number of the last ping
    bool ping_due_ = false;
    std::uint64_t pong_ = 0;  // number of the pong to send; 0: none
    bool answered_ = true;
    std::optional<Duration> round_trip_;
    std::optional<Instant> silent_until_;  // of the peer
    Counts counts_;
};

}  // namespace holdfast::doors::peer
