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
#include "net/turns.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::doors::peer {

struct PeerDoorLimits {
    Duration ping_every = 1s;
    Duration dead_after = 5s;        ///< without a frame from the peer, or without progress of a write to it
    Duration handshake_within = 5s;  ///< also the timeout of a connection attempt
    Duration redial_least = 50ms;
    Duration max_redial = 2s;
    Duration stop_within = 1s;                       ///< to send what is queued
    std::size_t max_queue_bytes = 32 * 1024 * 1024;  ///< per peer; above it the oldest messages are dropped
    std::size_t max_strangers = 64;                  ///< unauthenticated connections
};

/// The state of one peer.
struct PeerStatus {
    std::string id;
    std::string address;
    bool self = false;
    std::optional<store::quorum::BootNumber> boot;  ///< of the connected incarnation
    std::optional<Instant> connected_since;
    std::optional<Duration> round_trip;  ///< smoothed
    std::optional<Duration> silent_for;  ///< as the peer reports: how much longer it takes part in no vote (Q10)
    std::size_t bytes_queued = 0;
    // Totals over all connections since this node started:
    std::uint64_t connections = 0;
    std::uint64_t messages_sent = 0, messages_received = 0;
    std::uint64_t messages_dropped = 0;   ///< because there was no connection or no room
    std::uint64_t messages_rejected = 0;  ///< received with impossible contents
    std::uint64_t writes = 0;
    std::string last_refusal;  ///< code of the last refusal by either side; empty once connected
    std::string last_failure;  ///< why the last connection ended or was not established
};

struct PeerDoorStatus {
    std::vector<PeerStatus> peers;  ///< by index, this node included
    std::size_t strangers = 0;      ///< unauthenticated connections right now
    std::uint64_t refused = 0;      ///< incoming connections that were refused or dropped
    std::string last_refusal;       ///< of an incoming connection that did not identify itself
};

/// The node behind a door. It is called in turns of the door.
class Node {
 public:
    virtual ~Node() = default;
    /// An incarnation of the peer is connected (its boot number), or none is.
    virtual void on_peer(store::quorum::NodeIndex peer, std::optional<store::quorum::BootNumber> boot) = 0;
    /// Messages received together from the connected incarnation of a peer.
    virtual void on_messages(Life from, std::vector<codec::peer::Message> messages) = 0;
    /// A peer reports its own silent_for().
    virtual void on_silence(store::quorum::NodeIndex peer, Duration left) = 0;
    /// A peer reports the incarnations that it has recorded (Q12).
    virtual void on_lives(store::quorum::NodeIndex peer, const std::vector<store::quorum::LifeMark>& lives) = 0;
    /// A refusal says that this node runs on an earlier copy of its directory.
    virtual void on_found_old() = 0;
    /// How much longer this node takes part in no vote (Q10).
    virtual Duration silent_for() = 0;
    /// For operators; never called per message. `needs_repair`: it does not repair itself.
    virtual void log(std::string_view line, bool needs_repair) = 0;
};

/// The peer door: delivers messages between this node and the other members, or loses them (Q12). A delivered message
/// comes from the node it names, in order and at most once. docs/cluster.md describes the protocol.
///
/// Of each pair of nodes, the one with the lower index connects, and retries as long as it runs. A peer is connected as
/// one incarnation; a later incarnation replaces an earlier one, and an earlier one is refused.
///
/// Everything runs on the io_context's only thread, in turns (turns.h). All calls must be made on it.
class PeerDoor {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        Node& node;
        net::DoorTurn turn{};
        Members members;
        std::string listen;  ///< HOST:PORT; empty: this member's address in `members`
        std::string secret;  ///< peer::read_cluster_secret()
        store::quorum::BootNumber boot = 1;
        Duration longest_ttl{};  ///< like rho, must be equal on all members
        double rho = 0;
        std::uint64_t seed = 0;  ///< for the jitter of reconnect backoff
        PeerDoorLimits limits{};
        ProtocolVersions protocol{};
        Founders* founders = nullptr;  ///< notified of a peer before the node; null: any directory is accepted
    };
    explicit PeerDoor(Parts parts);
    ~PeerDoor();

    /// Listens and begins to connect. Returns the bound address; error `cannot_listen` gives the reason. A cluster of
    /// one does neither and returns the address it was given.
    Result<std::string> start();

    /// Queues the message. It is sent at the end of a turn, together with all others for this peer. It is lost
    /// if that incarnation of the peer is not connected. Does not call back. REQUIRES: the sender is this incarnation
    /// of this node, and the receiver is another node.
    void send(const store::quorum::Envelope& envelope);
    void send(store::quorum::NodeIndex to, const consensus::LogMessage& message);

    /// Closes the connection to the peer, if any, in a turn to come. The peer may reconnect, also as a later
    /// incarnation.
    void disconnect(store::quorum::NodeIndex peer, const std::string& why);

    PeerDoorStatus status() const;

    /// Stops connecting, sends what is queued (for at most stop_within), closes, then calls done. No other callback
    /// runs from now on.
    void stop(std::function<void()> done);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::doors::peer
