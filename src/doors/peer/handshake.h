#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "doors/peer/founders.h"
#include "doors/peer/frames.h"
#include "doors/peer/refusal.h"
#include "store/quorum/ballot.h"

namespace holdfast::peer {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::size_t handshake_frame_bytes = 1024;

/// This node's identity, and the parameters that all members must share (Q12).
struct Terms {
    std::string secret;
    core::NodeIndex node = 0;
    core::BootNumber boot = 1;
    std::vector<std::string> members;  ///< ids, in index order
    Duration longest_ttl{};
    double rho = 0;
    std::uint32_t protocol = protocol_version;
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
/// on are sealed. The keys of the frames after the handshake are derived from both nonces, ids and boot numbers. The
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
    /// REQUIRES: refused.
    Refusal refusal() const;
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

}  // namespace holdfast::peer
