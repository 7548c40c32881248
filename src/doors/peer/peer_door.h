#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "codec/peer/peer_messages.h"
#include "doors/peer/handshake.h"
#include "doors/peer/members.h"

namespace boost::asio {
class io_context;
}

namespace holdfast {

struct PeerDoorLimits {
    Duration ping_every = 1s;
    Duration dead_after = 5s;        ///< without a frame from the other end, or without progress of what is sent to it
    Duration handshake_within = 5s;  ///< also for a connection to come about
    Duration redial_least = 50ms;
    Duration max_redial = 2s;
    Duration stop_within = 1s;                       ///< for what is queued to be sent
    std::size_t max_queue_bytes = 32 * 1024 * 1024;  ///< for one peer; then the oldest messages are dropped
    std::size_t max_strangers = 64;                  ///< connections that have not proved who they are
};

/// How it stands with one peer.
struct PeerStatus {
    std::string id;
    std::string address;
    bool self = false;
    std::optional<core::BootNumber> boot;  ///< of the life that is connected
    std::optional<Instant> connected_since;
    std::optional<Duration> round_trip;  ///< smoothed
    std::optional<Duration> silent_for;  ///< as it says: for how long it takes part in no decision (Q10)
    std::size_t bytes_queued = 0;
    // Of all connections in this node's life:
    std::uint64_t connections = 0;
    std::uint64_t messages_sent = 0, messages_received = 0;
    std::uint64_t messages_dropped = 0;   ///< for want of a connection, or of room
    std::uint64_t messages_rejected = 0;  ///< that came and said what cannot be
    std::uint64_t writes = 0;
    std::string last_refusal;  ///< the code of the last refusal, by either side; empty once connected
    std::string last_failure;  ///< why the last connection ended or did not come about
};

struct PeerDoorStatus {
    std::vector<PeerStatus> peers;  ///< by index, this node included
    std::size_t strangers = 0;      ///< connections that have not proved who they are, now
    std::uint64_t refused = 0;      ///< connections from outside that were refused or turned away
    std::string last_refusal;       ///< of those, for one who did not say who it is
};

/// The peer door: carries messages between this node and the other members, or loses them (Q12). What arrives comes
/// from who it says, in this order, once; docs/cluster.md has the protocol.
///
/// Of each two nodes the one with the lower index connects, and tries again as long as it lives. A peer is connected
/// with one of its lives; a later life takes the place of an earlier one, and an earlier one is refused.
///
/// Everything runs on the io_context's one thread, and so must every call.
class PeerDoor {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        peer::Members members;
        std::string listen;  ///< HOST:PORT; empty: this member's address in `members`
        std::string secret;  ///< peer::read_cluster_secret()
        core::BootNumber boot = 1;
        Duration longest_ttl{};  ///< this and rho: all members must have the same
        double rho = 0;
        std::uint64_t seed = 0;                          ///< of the jitter between attempts to connect
        std::function<Instant()> clock;                  ///< base/clock.h, store_clock_now
        std::function<void(std::string_view line)> log;  ///< what an operator may want to know; never per message
        std::function<void(std::string_view line)> log_error = {};  ///< what needs repair; none: as the others
        /// A life of a peer is connected, or none is.
        std::function<void(core::NodeIndex peer, std::optional<core::BootNumber> boot)> on_peer;
        /// What has come together from a life of a peer that is connected.
        std::function<void(peer::Life from, std::vector<peer::Message> messages)> on_messages;
        /// This node's own, which others are told; and that of a peer, whenever it tells. Either may be empty.
        std::function<Duration()> silent_for = {};
        std::function<void(core::NodeIndex peer, Duration left)> on_silence = {};
        /// The lives that a peer has written down, whenever it tells (Q12); and that a refusal says that this node runs
        /// on an earlier copy of its directory, after `founders` has heard of it. Either may be empty.
        std::function<void(core::NodeIndex peer, const std::vector<core::LifeMark>& lives)> on_lives = {};
        std::function<void()> on_found_old = {};
        PeerDoorLimits limits{};
        std::uint32_t protocol = peer::protocol_version;
        peer::Founders* founders = nullptr;  ///< told of a peer before on_peer is; none: every directory will do
    };
    explicit PeerDoor(Parts parts);
    ~PeerDoor();

    /// Listens, and begins to connect. Returns the address bound; error `cannot_listen` says why not. A cluster of one
    /// does neither, and returns the address it was given.
    Result<std::string> start();

    /// Queued, and sent at the end of the loop's turn together with all else for this peer. Lost if that life of the
    /// peer is not connected. Does not call back. REQUIRES: it is from this life of this node, and not to itself.
    void send(const core::Envelope& envelope);
    void send(core::NodeIndex to, const core::LogMessage& message);

    /// Ends the connection to the peer, if there is one. It may come back as what it is then.
    void disconnect(core::NodeIndex peer, const std::string& why);

    PeerDoorStatus status() const;

    /// Connects no more, sends what is queued (bounded), closes, then calls done. Nothing else is called from now on.
    void stop(std::function<void()> done);

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
