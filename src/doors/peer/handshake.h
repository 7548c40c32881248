#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "doors/peer/frames.h"
#include "store/quorum/ballot.h"
#include "store/quorum/peer_lives.h"

namespace holdfast::doors::peer {

/// The versions of the protocol that a node speaks. Two nodes use the newest one that both speak. From version 3 on
/// records are those of proto/record.proto.
struct ProtocolVersions {
    std::uint32_t oldest = 3;
    std::uint32_t newest = 3;

    bool operator==(const ProtocolVersions&) const = default;
};
/// Nullopt if there is none.
std::optional<std::uint32_t> common_version(ProtocolVersions ours, ProtocolVersions theirs);

inline constexpr std::size_t handshake_frame_bytes = 1024;

/// Why two nodes refuse each other. The numbers are part of the protocol and never change.
enum class Refusal : std::uint8_t {
    wrong_secret = 1,
    other_version = 2,
    other_members = 3,
    other_longest_ttl = 4,
    other_rho = 5,
    unexpected_node = 6,
    old_boot = 7,
    other_directory = 8,
    old_directory = 9,
};

/// The stable code, spelled like the enumerator, and a sentence that says what to do.
std::string_view to_string(Refusal refusal);
std::string_view advice(Refusal refusal);
/// True if a state directory was lost or restored from a copy. That does not repair itself, so the operator should know
/// at once.
bool needs_repair(Refusal refusal);
std::optional<Refusal> refusal_of(std::uint32_t number);

/// One incarnation of a member, named by its boot number.
struct Life {
    store::quorum::NodeIndex node = 0;
    store::quorum::BootNumber boot = 0;

    bool operator==(const Life&) const = default;
};

/// What a node reports about state directories when it introduces itself.
struct Directories {
    std::uint64_t own = 0;                ///< the number of its directory, chosen at random when that was created
    std::vector<std::uint64_t> founders;  ///< the directory numbers of all members, by index; empty: not known yet
    std::uint64_t incarnation = 0;        ///< of the node that introduces itself (store::quorum::LifeMark)
    std::vector<store::quorum::LifeMark>
        lives;  ///< by member: the latest incarnation it has recorded; empty: it records none

    bool operator==(const Directories&) const = default;
};

/// Knows which directories, and which copies of them, belong to the cluster.
class Founders {
 public:
    virtual ~Founders() = default;

    virtual Directories own() const = 0;
    virtual std::optional<Refusal> refuses(Life peer, const Directories& theirs) const = 0;
    /// The peer is connected.
    virtual void met(Life peer, const Directories& theirs) = 0;
};

/// This node's identity, and the parameters that all members must share (Q12).
struct Terms {
    std::string secret;
    store::quorum::NodeIndex node = 0;
    store::quorum::BootNumber boot = 1;
    std::vector<std::string> members;  ///< ids, in index order
    Duration longest_ttl{};
    double rho = 0;
    ProtocolVersions protocol{};
    const Founders* founders = nullptr;
};

/// Authenticates two nodes to each other, as a pure state machine: frames in, bytes out.
///
///     connector: nonce                        acceptor: nonce
///     connector: proof                        acceptor: proof, introduction
///     connector: introduction                 acceptor: welcome
///
/// A proof is an HMAC of both nonces under the secret, so recorded traffic cannot be replayed. Neither end sends more
/// than its nonce and its proof before the other has proved that it knows the secret. All frames from the introductions
/// on are sealed, so nobody in between can make two nodes use an older version of the protocol than both speak. The
/// keys of the frames after the handshake are derived from both nonces, ids and boot numbers and from the version. The
/// end that refuses sends the reason, so that both ends know it.
class Handshake {
 public:
    enum class Side : std::uint8_t { connector, acceptor };
    /// Called for a peer that agrees on all terms.
    using Admits = std::function<std::optional<Refusal>(Life peer)>;

    /// REQUIRES: the terms outlive the handshake, and `nonce` has 32 unpredictable bytes.
    Handshake(Side side, const Terms& terms, std::string nonce, Admits admits);
    ~Handshake();

    enum class State : std::uint8_t { under_way, done, refused, broken };
    State state() const;

    /// The bytes to send first; empty for an acceptor.
    std::string begin();
    /// Takes a frame's body and returns the bytes to send. REQUIRES: under way.
    std::string receive(std::string_view body);

    /// The other end, once it has introduced itself and is a member. Its boot number is 0 if it refused before that.
    std::optional<Life> peer() const;
    const Directories& directories() const;  ///< of the other end, once it has introduced itself
    /// The version of all later frames. REQUIRES: done.
    std::uint32_t protocol() const;
    /// REQUIRES: refused.
    Refusal refusal() const;
    /// What happened and what to do, for people. REQUIRES: refused.
    std::string why_refused() const;
    bool refused_by_peer() const;
    /// Describes the malformed input. REQUIRES: broken.
    const std::string& why_broken() const;

    /// Seal and open all later frames. REQUIRES: done.
    Sealer take_sealer();
    Opener take_opener();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::doors::peer
